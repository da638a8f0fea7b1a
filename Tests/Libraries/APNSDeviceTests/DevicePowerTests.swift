import Testing

@testable import APNSDevice

/// When a device reports its power state, and when it repeats the report.
@Suite(.timeLimit(.minutes(2))) struct DevicePowerTests {
    /// The paths of the requests on one connection, in order.
    private static func paths(_ courier: ScriptedCourier, on connection: Int) -> [String] {
        courier.record.value.requests.filter { $0.connection == connection }.map(\.path)
    }

    @Test func `The device reports its power again on each new connection, before it listens`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run { request in
            switch (request.path, request.connection) {
            case ("/1/notifications", 1...2): .streamAndVanish("")
            case ("/1/notifications", _): .stream("")
            default: .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) {
                $0.power = .low
            } _: { _ in
                try await delegate.record.wait { $0.connections >= 1 }
                try await courier.record.wait {
                    $0.requests.contains { $0.connection == 3 && $0.path == "/1/notifications" }
                }
            }
            for connection in 1...3 {
                #expect(Self.paths(courier, on: connection).prefix(2) == ["/1/state", "/1/notifications"])
            }
            #expect(Set(courier.record.value.bodies("/1/state")) == [#"{"power":"low"}"#])
        }
    }

    @Test func `The last report of the power is repeated on a new connection`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run { request in
            switch (request.path, request.connection) {
            case ("/1/notifications", _): .stream("")
            case ("/1/reset", 1): .vanish
            default: .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) {
                $0.power = .low
            } _: { device in
                try await delegate.record.wait { $0.connections == 1 }
                try await device.report(.charging)
                // The connection breaks.
                await #expect(throws: DeviceError.self) { try await device.reset() }
                try await courier.record.wait { $0.bodies("/1/state").count == 3 }
            }
            let said = courier.record.value.bodies("/1/state")
            #expect(said == ["low", "charging", "charging"].map { #"{"power":"\#($0)"}"# })
        }
    }

    @Test func `The power that is read on each connection overrides an earlier report`() async throws {
        let delegate = RecordingDelegate()
        let power = Observed(Device.Power?.some(.low))
        try await ScriptedCourier.run { request in
            switch (request.path, request.connection) {
            case ("/1/notifications", 1):
                power.update { $0 = .charging }
                return .streamAndVanish("")
            case ("/1/notifications", _): return .stream("")
            default: return .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) {
                $0.power = .awake
                $0.readPower = { power.value }
            } _: { _ in
                try await courier.record.wait { $0.bodies("/1/state").count == 2 }
            }
            #expect(courier.record.value.bodies("/1/state") == ["low", "charging"].map { #"{"power":"\#($0)"}"# })
        }
    }

    @Test func `A device without a power to report sends no report, and neither does a request without a stream`()
        async throws
    {
        try await ScriptedCourier.run(act: { $0.path == "/1/notifications" ? .stream("") : .answer(204, "") }) {
            courier in
            let delegate = RecordingDelegate()
            try await courier.device(delegate) { _ in try await delegate.record.wait { $0.connections == 1 } }
            var configuration = Device.Configuration()
            configuration.power = .low
            let device = try Device(
                courier.identity, at: courier.address, delegate: delegate, configuration: configuration)
            try await device.reset()
            await device.close()
            #expect(courier.record.value.bodies("/1/state").isEmpty)
        }
    }

    @Test func `If the courier does not know the report, the app is told, and the stream goes on`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run { request in
            request.path == "/1/notifications"
                ? .stream(ScriptedCourier.line(1))
                : request.path == "/1/state"
                    ? .answer(404, #"{"reason":"BadPath"}"#)
                    : .answer(204, "")
        } _: { courier in
            try await courier.device(delegate) {
                $0.power = .low
            } _: { _ in
                try await delegate.record.wait { !$0.notifications.isEmpty && !$0.problems.isEmpty }
                #expect(delegate.record.value.problems.map(\.reason) == ["BadPath"])
            }
        }
    }
}
