import Foundation
import NIOCore
import Testing

@testable import APNSDevice

/// What a device does on its connection by itself.
@Suite(.timeLimit(.minutes(2))) struct DeviceConnectionTests {
    private static func stream(_ text: String) -> @Sendable (ScriptedCourier.Request) -> ScriptedCourier.Act {
        { $0.path == "/1/notifications" ? .stream(text) : .answer(204, "") }
    }

    @Test func `A notification is acknowledged after the app has taken it, and not before`() async throws {
        let delegate = RecordingDelegate(isHeld: true)
        try await ScriptedCourier.run(act: Self.stream(ScriptedCourier.line(1))) { courier in
            try await courier.device(delegate) { device in
                try await delegate.record.wait { !$0.notifications.isEmpty }
                // The courier answers this request. If the device had sent an acknowledgement before, the courier would
                // have it by now.
                try await device.report(.awake)
                #expect(courier.record.value.acknowledgements.isEmpty)
                delegate.record.update { $0.isHeld = false }
                try await courier.record.wait { $0.acknowledgements == [[1]] }
            }
        }
    }

    @Test func `While an acknowledgement is under way, further ones gather`() async throws {
        let delegate = RecordingDelegate()
        let lines = (1...50).map { ScriptedCourier.line($0) }.joined()
        try await ScriptedCourier.run { request in
            request.path == "/1/notifications" ? .stream(lines) : .hang
        } _: { courier in
            try await courier.device(delegate) {
                $0.closeTimeout = .milliseconds(50)
            } _: { _ in
                try await courier.record.wait { !$0.acknowledgements.isEmpty }
                try await delegate.record.wait { $0.notifications.count == 50 }
            }
            #expect(courier.record.value.acknowledgements.count == 1)
        }
    }

    @Test func `If notifications keep coming, one request takes all acknowledgements except the first`() async throws {
        let delegate = RecordingDelegate()
        let lines = (1...5).map { ScriptedCourier.line($0) }
        try await ScriptedCourier.run { request in
            request.path == "/1/notifications" ? .streamInParts(lines) : .answer(204, "")
        } _: { courier in
            try await courier.device(delegate) {
                // A silence this long does not occur in the test, even on a slow machine.
                $0.acknowledgements.silence = .hours(1)
                $0.acknowledgements.longest = .hours(1)
                $0.closeTimeout = .seconds(20)
            } _: { _ in
                try await courier.record.wait { $0.acknowledgements == [[1], [2], [3], [4], [5]] }
            }
            // Closing ends the open acknowledgement request.
            #expect(
                courier.record.value.bodies("/1/acknowledgements") == [
                    "{\"sendings\":[1]}\n",
                    "{\"sendings\":[2]}\n{\"sendings\":[3]}\n{\"sendings\":[4]}\n{\"sendings\":[5]}\n",
                ])
        }
    }

    @Test func `An open request ends by itself`() async throws {
        let delegate = RecordingDelegate()
        let lines = (1...2).map { ScriptedCourier.line($0) }
        try await ScriptedCourier.run { request in
            request.path == "/1/notifications" ? .streamInParts(lines) : .answer(204, "")
        } _: { courier in
            try await courier.device(delegate) {
                // Only the longest time can end the request, however slow the machine is.
                $0.acknowledgements.silence = .hours(1)
                $0.acknowledgements.longest = .milliseconds(10)
            } _: { _ in
                try await courier.record.wait { $0.bodies("/1/acknowledgements").count == 2 }
            }
        }
    }

    @Test
    func `If a courier answers before the request ends, the acknowledgements are sent again on the next connection`()
        async throws
    {
        let delegate = RecordingDelegate()
        let lines = (1...3).map { ScriptedCourier.line($0) }
        try await ScriptedCourier.run { request in
            switch (request.path, request.connection) {
            case ("/1/notifications", 1): .streamInParts(lines)
            case ("/1/notifications", _): .stream("")
            default: .answer(204, "")
            }
        } _: { courier in
            courier.answersEarly.update { $0 = true }
            try await courier.device(delegate) {
                $0.acknowledgements.silence = .hours(1)
                $0.acknowledgements.longest = .hours(1)
            } _: { _ in
                try await courier.record.wait { Set($0.laterAcknowledgements.joined()).contains(2) }
            }
        }
    }

    @Test func `If the courier is going away, the open request ends`() async throws {
        let delegate = RecordingDelegate()
        let lines = (1...2).map { ScriptedCourier.line($0) }
        try await ScriptedCourier.run { request in
            switch request.path {
            case "/1/notifications": .streamInParts(lines)
            case "/1/state" where request.connection == 1: .goAwayWith(line: ScriptedCourier.line(3))
            default: .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) {
                $0.acknowledgements.silence = .hours(1)
                $0.acknowledgements.longest = .hours(1)
            } _: { device in
                try await courier.record.wait { $0.acknowledgements == [[1], [2]] }
                try await device.report(.awake)
                try await courier.record.wait {
                    $0.bodies("/1/acknowledgements").last == "{\"sendings\":[2]}\n{\"sendings\":[3]}\n"
                }
            }
        }
    }

    @Test func `Acknowledgements of a request that broke off are sent again on the next connection`() async throws {
        let delegate = RecordingDelegate()
        let lines = (1...3).map { ScriptedCourier.line($0) }
        try await ScriptedCourier.run { request in
            switch (request.path, request.connection) {
            case ("/1/notifications", 1): .streamInParts(lines)
            case ("/1/notifications", _): .stream("")
            case ("/1/state", _): .vanish
            default: .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) {
                $0.acknowledgements.silence = .hours(1)
                $0.acknowledgements.longest = .hours(1)
            } _: { device in
                try await courier.record.wait { $0.acknowledgements == [[1], [2], [3]] }
                await #expect(throws: DeviceError.self) { try await device.report(.awake) }
                try await courier.record.wait { $0.laterAcknowledgements.joined().sorted() == [2, 3] }
            }
        }
    }

    @Test func `Acknowledgements without an answer are sent again on the next connection`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run { request in
            switch (request.path, request.connection) {
            case ("/1/notifications", 1): .stream((1...50).map { ScriptedCourier.line($0) }.joined())
            case ("/1/notifications", _): .stream("")
            case (_, 1): .vanish
            default: .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) { _ in
                try await courier.record.wait { record in
                    let taken = delegate.record.value.notifications.count
                    return taken > 0 && Set(record.laterAcknowledgements.joined()) == Set(1...taken)
                }
            }
        }
    }

    @Test func `A notification that arrives twice is acknowledged, and not given to the app again`() async throws {
        let delegate = RecordingDelegate()
        let text = ScriptedCourier.line(1, id: 5) + ScriptedCourier.line(2, id: 5)
        try await ScriptedCourier.run(act: Self.stream(text)) { courier in
            try await courier.device(delegate) { _ in
                try await courier.record.wait { Set($0.acknowledgements.joined()) == [1, 2] }
            }
        }
        #expect(delegate.record.value.notifications.count == 1)
    }

    @Test func `With a file of identifiers, a notification that arrives twice is recognised even after a restart`()
        async throws
    {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let delegate = RecordingDelegate()
        for _ in 0..<2 {
            try await ScriptedCourier.run(act: Self.stream(ScriptedCourier.line(1))) { courier in
                let received = try FileIdentifiers(path: path)
                try await courier.device(delegate) {
                    $0.received = received
                } _: { _ in
                    try await courier.record.wait { $0.acknowledgements == [[1]] }
                }
            }
        }
        #expect(delegate.record.value.notifications.count == 1)
    }

    @Test func `A device that waits to reconnect does so at once when the network is back`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run { request in
            request.connection == 1 ? .vanish : .stream(ScriptedCourier.line(1))
        } _: { courier in
            try await courier.device(delegate) {
                $0.reconnection.shortest = .hours(1)
                $0.reconnection.longest = .hours(1)
            } _: { device in
                try await delegate.record.wait { !$0.failures.isEmpty }
                device.networkIsBack()
                try await delegate.record.wait { !$0.notifications.isEmpty }
            }
        }
    }

    @Test func `Closing first acknowledges the notifications that the app has taken`() async throws {
        let delegate = RecordingDelegate(isHeld: true)
        try await ScriptedCourier.run(act: Self.stream(ScriptedCourier.line(1))) { courier in
            let error = try await courier.device(delegate) {
                $0.closeTimeout = .seconds(20)
            } _: { device in
                try await delegate.record.wait { !$0.notifications.isEmpty }
                async let closed: Void = device.close()
                delegate.record.update { $0.isHeld = false }
                await closed
            }
            #expect(error == nil)
            #expect(courier.record.value.acknowledgements == [[1]])
        }
    }

    @Test func `Closing waits only for a limited time for an app that does not finish`() async throws {
        let delegate = RecordingDelegate(isHeld: true)
        try await ScriptedCourier.run(act: Self.stream(ScriptedCourier.line(1))) { courier in
            let error = try await courier.device(delegate) {
                $0.closeTimeout = .milliseconds(50)
            } _: { _ in
                try await delegate.record.wait { !$0.notifications.isEmpty }
            }
            #expect(error == nil)
            #expect(courier.record.value.acknowledgements.isEmpty)
            delegate.record.update { $0.isHeld = false }
        }
    }

    @Test func `Cancelling the run ends the device`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: Self.stream("")) { courier in
            let device = try Device(courier.identity, at: courier.address, delegate: delegate)
            let running = Task { try await device.run() }
            try await delegate.record.wait { $0.connections == 1 }
            running.cancel()
            try await running.value
            let error = await #expect(throws: DeviceError.self) { try await device.register("com.example.app") }
            #expect(error?.code == .closed)
        }
    }

    @Test func `One connection carries the stream and all requests`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run { request in
            switch (request.method, request.path) {
            case ("GET", _): .stream("")
            case ("PUT", _): .answer(200, #"{"token":"00ff"}"#)
            default: .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) { device in
                try await delegate.record.wait { $0.connections == 1 }
                #expect(try await device.register("com.example.app") == "00ff")
                #expect(try await device.unregister("com.example.app") == nil)
                try await device.report(.low)
                try await device.reset()
            }
            let record = courier.record.value
            #expect(record.connections == 1)
            #expect(record.bodies("/1/state") == [#"{"power":"low"}"#])
            #expect(record.requests.last?.path == "/1/reset")
        }
    }

    // MARK: Renewal

    private static func renewing(_ request: ScriptedCourier.Request) -> ScriptedCourier.Act {
        switch request.path {
        case "/1/notifications": .stream("")
        case "/1/renewals": .certify
        default: .answer(204, "")
        }
    }

    @Test func `When two thirds of its life are over, an identity is renewed, stored and used`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(identityAge: 300 * 86_400, act: Self.renewing) { courier in
            try await courier.device(delegate) { device in
                let renewed = try #require(try await delegate.record.wait { $0.renewed.count == 1 }.renewed.first)
                #expect(renewed.deviceID == courier.identity.deviceID)
                #expect(renewed.keyPEM != courier.identity.keyPEM)
                let date = try #require(renewed.renewalDate)
                #expect(date > Date())
                // The device uses the new identity on a new connection.
                try await courier.record.wait { $0.requests.contains { $0.connection == 2 } }
                #expect(await device.identity == renewed)
            }
            #expect(courier.record.value.bodies("/1/renewals").count == 1)
        }
    }

    @Test func `A device whose clock is months ahead renews its identity once, and not on each connection`()
        async throws
    {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run { request in
            // The device uses the new identity on the second connection.
            request.path == "/1/notifications" && request.connection == 2
                ? .stream(ScriptedCourier.line(1)) : Self.renewing(request)
        } _: { courier in
            try await courier.device(delegate) {
                $0.now = { Date() + 300 * 86_400 }
            } _: { _ in
                // Another renewal would be asked for before this.
                try await courier.record.wait { $0.acknowledgements == [[1]] }
            }
            #expect(courier.record.value.bodies("/1/renewals").count == 1)
        }
    }

    @Test func `A renewed identity that cannot be stored is not used`() async throws {
        let delegate = RecordingDelegate(keeps: false)
        try await ScriptedCourier.run(identityAge: 300 * 86_400, act: Self.renewing) { courier in
            try await courier.device(delegate) { device in
                let record = try await delegate.record.wait { !$0.problems.isEmpty }
                #expect(record.problems.map(\.code) == [.storage])
                #expect(await device.identity == courier.identity)
            }
        }
    }

    @Test
    func `When two thirds of its life are over, a device asks for a new identity, and refuses one with another key`()
        async throws
    {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(identityAge: 0, act: { _ in .hang }) { other in
            let newChain = other.identity.chainPEM
            try await ScriptedCourier.run(identityAge: 300 * 86_400) { request in
                switch request.path {
                case "/1/notifications": .stream("")
                case "/1/renewals": .answer(200, newChain)
                default: .answer(204, "")
                }
            } _: { courier in
                try await courier.device(delegate) { _ in
                    try await delegate.record.wait { $0.renewed.count == 1 || !$0.problems.isEmpty }
                }
                let request = try #require(courier.record.value.bodies("/1/renewals").first)
                #expect(request.hasPrefix("-----BEGIN CERTIFICATE REQUEST-----"))
                // The certificate is for another key than the device has asked for. So the device cannot use it, and
                // reports that.
                // that.
                #expect(delegate.record.value.problems.map(\.code) == [.badIdentity])
                #expect(delegate.record.value.renewed.isEmpty)
            }
        }
    }

    @Test func `A young identity is not renewed`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(identityAge: 200 * 86_400, act: Self.stream(ScriptedCourier.line(1))) { courier in
            try await courier.device(delegate) { _ in
                try await courier.record.wait { $0.acknowledgements == [[1]] }
            }
            #expect(courier.record.value.bodies("/1/renewals").isEmpty)
        }
    }

    @Test func `A renewal that is refused is reported, and the connection goes on`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(identityAge: 300 * 86_400) { request in
            switch request.path {
            case "/1/notifications": .stream(ScriptedCourier.line(1))
            case "/1/renewals": .answer(503, #"{"reason":"ServiceUnavailable"}"#)
            default: .answer(204, "")
            }
        } _: { courier in
            try await courier.device(delegate) { _ in
                try await courier.record.wait { $0.acknowledgements == [[1]] }
                try await delegate.record.wait { !$0.problems.isEmpty }
            }
        }
        #expect(delegate.record.value.problems.map(\.code) == [.unavailable])
        #expect(delegate.record.value.failures.isEmpty)
    }
}
