import CommonTesting
import Crypto
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import APNSDevice

/// A misbehaving courier. The caller gets an error, the device tries again if that can help, and nothing crashes.
@Suite(.timeLimit(.minutes(2))) struct BadCourierTests {
    /// Returns a script that misbehaves on the first connections, and then delivers one notification.
    private static func first(
        connections count: Int = 1,
        _ act: ScriptedCourier.Act,
    ) -> @Sendable (ScriptedCourier.Request) -> ScriptedCourier.Act {
        { request in
            guard request.path == "/1/notifications" else { return .answer(204, "") }
            return request.connection <= count ? act : .stream(ScriptedCourier.line(9))
        }
    }

    static let passing: [(String, ScriptedCourier.Act, DeviceError.Code)] = [
        ("vanishes", .vanish, .disconnected),
        ("vanishes after half a line", .streamAndVanish(#"{"sending":1,"id":"000"#), .disconnected),
        ("ends the stream for a shutdown", .stream(#"{"end":"shutdown"}"# + "\n"), .disconnected),
        ("sends a line that is not JSON", .stream("<html>\n"), .badResponse),
        ("sends a line that is no dictionary", .stream("[1]\n"), .badResponse),
        ("sends a line that does not end", .stream(String(repeating: "x", count: 20_000)), .badResponse),
        ("hangs", .hang, .timedOut),
        ("freezes", .streamAndFreeze, .timedOut),
        ("is overloaded", .answer(503, #"{"reason":"ServiceUnavailable"}"#), .unavailable),
        ("has no time", .answer(429, #"{"reason":"TooManyRequests"}"#), .unavailable),
        ("goes away", .goAway("Shutdown"), .unavailable),
        ("ends the stream without a word", .answer(200, ""), .disconnected),
    ]

    @Test(arguments: passing)
    func `After this misbehaviour of the courier, the device tries again`(
        _ name: String, _ act: ScriptedCourier.Act, _ code: DeviceError.Code,
    ) async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: Self.first(act)) { courier in
            try await courier.device(delegate) {
                guard code == .timedOut else { return }
                $0.connectTimeout = .seconds(1)
                $0.keepAlive.shortest = .milliseconds(100)
                $0.keepAlive.answer = .seconds(1)
            } _: { _ in
                try await delegate.record.wait { !$0.notifications.isEmpty }
                try await courier.record.wait { $0.acknowledgements.contains([9]) }
            }
        }
        #expect(delegate.record.value.failures.first == code)
        #expect(delegate.record.value.notifications.count == 1)
    }

    static let final: [(String, ScriptedCourier.Act, DeviceError.Code)] = [
        ("says that another connection took over", .stream(#"{"end":"takenOver"}"# + "\n"), .takenOver),
        (
            "says that the environment is the other one", .answer(403, #"{"reason":"BadCertificateEnvironment"}"#),
            .identityRefused
        ),
        ("says that the device was revoked", .stream(#"{"end":"revoked"}"# + "\n"), .identityRefused),
        ("revokes the certificate", .goAway("BadCertificate"), .identityRefused),
        ("is no courier", .answer(404, "<html>Not Found</html>"), .refused),
    ]

    @Test(arguments: final)
    func `After this misbehaviour of the courier, the run ends`(
        _ name: String, _ act: ScriptedCourier.Act, _ code: DeviceError.Code,
    ) async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: Self.first(connections: 100, act)) { courier in
            let error = try await courier.device(delegate) { _ in
                try await delegate.record.wait { $0.states.contains { if case .ended = $0 { true } else { false } } }
            }
            #expect(error?.code == code)
            #expect(courier.record.value.connections == 1)
        }
    }

    /// Some couriers only refuse the stream when they have refused an earlier request, which looks as if it were for now.
    @Test func `If the courier refuses the device when it reports its power, the run ends`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: {
            $0.path == "/1/state" ? .answer(403, #"{"reason":"BadCertificateEnvironment"}"#) : .hang
        }) { courier in
            let error = try await courier.device(delegate) {
                $0.power = .low
            } _: { _ in
                try await delegate.record.wait { $0.states.contains { if case .ended = $0 { true } else { false } } }
            }
            #expect(error?.code == .identityRefused)
            #expect(courier.record.value.connections == 1)
        }
    }

    @Test(arguments: ["", "HTTP/1.1 400 Bad Request\r\n\r\n"])
    func `If the peer is not a courier, the error says what to do`(greeting: String) async throws {
        try await ScriptedCourier.run(act: Self.first(.hang)) { courier in
            let other = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Greeter(greeting))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            var address = courier.address
            address.port = other.localAddress?.port ?? 0
            let error = await #expect(throws: DeviceError.self) {
                try await DeviceIdentity.activate(at: address, environment: .development)
            }
            #expect(error?.isTemporary == true)
            #expect(error?.cause.contains("check the address and the port") == true, "\(error?.cause ?? "")")
            for raw in ["handshakeFailed", "NIOSSL", "sslError"] { #expect(error?.cause.contains(raw) == false) }
            try await other.close()
        }
    }

    /// Sends a text and ends the connection.
    private final class Greeter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let greeting: String

        init(_ greeting: String) { self.greeting = greeting }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: greeting)), promise: nil)
            context.close(promise: nil)
        }
    }

    @Test func `An unknown event is ignored`() async throws {
        let delegate = RecordingDelegate()
        let text = #"{"event":"of a later version"}"# + "\n\n" + ScriptedCourier.line(1)
        try await ScriptedCourier.run(act: Self.first(.stream(text))) { courier in
            try await courier.device(delegate) { _ in
                try await delegate.record.wait { !$0.notifications.isEmpty }
            }
        }
        #expect(delegate.record.value.problems.isEmpty)
        #expect(delegate.record.value.failures.isEmpty)
    }

    @Test(arguments: ["[]", "7", #""text""#, "null"])
    func `A payload of the wrong shape is reported, acknowledged and not given to the app`(
        _ payload: String
    ) async throws {
        let delegate = RecordingDelegate()
        let text = ScriptedCourier.line(1, payload: payload) + ScriptedCourier.line(2)
        try await ScriptedCourier.run(act: Self.first(.stream(text))) { courier in
            try await courier.device(delegate) { _ in
                try await courier.record.wait { Set($0.acknowledgements.joined()) == [1, 2] }
            }
        }
        #expect(delegate.record.value.problems.map(\.code) == [.badResponse])
        #expect(delegate.record.value.notifications.count == 1)
    }

    @Test func `An expired identity is refused, and the run ends`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(identityAge: 366 * 86_400, act: Self.first(.hang)) { courier in
            let error = try await courier.device(delegate) { _ in
                try await delegate.record.wait { $0.states.contains { if case .ended = $0 { true } else { false } } }
            }
            #expect(error?.code == .identityRefused)
            #expect(error?.cause.contains("its certificate ended at") == true)
        }
    }

    @Test
    func `A certificate that becomes valid tomorrow is not trusted; the error says so, and the device tries again`()
        async throws
    {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(serverAge: -86_400, act: Self.first(.hang)) { courier in
            try await courier.device(delegate) {
                // A device's clock that is a day behind.
                $0.now = { Date(timeIntervalSinceNow: -86_400) }
            } _: { _ in
                try await delegate.record.wait { $0.failures.count >= 2 }
            }
        }
        let states = delegate.record.value.states
        let causes = states.compactMap { if case .disconnected(let error, _) = $0 { error } else { nil } }
        #expect(causes.allSatisfy { $0.code == .courierNotTrusted })
        #expect(causes.first?.cause.contains("before its own certificate was made") == true)
    }

    @Test func `A device whose clock is a day ahead still connects`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: Self.first(.stream(ScriptedCourier.line(1)))) { courier in
            try await courier.device(delegate) {
                $0.now = { Date(timeIntervalSinceNow: 86_400) }
            } _: { _ in
                try await delegate.record.wait { !$0.notifications.isEmpty }
            }
        }
        #expect(delegate.record.value.failures.isEmpty)
    }

    @Test func `A courier whose certificate another authority issued is refused`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: Self.first(.hang)) { other in
            try await ScriptedCourier.run(act: Self.first(.hang)) { courier in
                var address = courier.address
                address.authorityFile = other.address.authorityFile
                let device = try Device(courier.identity, at: address, delegate: delegate)
                let running = Task { try await device.run() }
                try await delegate.record.wait { $0.failures == [.courierNotTrusted] }
                await device.close()
                try await running.value
            }
        }
    }

    @Test func `A service with a new data folder does not know the device, so the run ends`() async throws {
        let file = NSTemporaryDirectory() + "authority-\(UUID().uuidString).pem"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: Self.first(.hang)) { before in
            try await ScriptedCourier.run(act: Self.first(.hang)) { courier in
                try FileManager.default.copyItem(atPath: before.address.authorityFile, toPath: file)
                var address = courier.address
                address.authorityFile = file
                let device = try Device(before.identity, at: address, delegate: delegate)
                try Data(contentsOf: URL(fileURLWithPath: courier.address.authorityFile))
                    .write(to: URL(fileURLWithPath: file))
                let error = await #expect(throws: DeviceError.self) { try await device.run() }
                #expect(error?.code == .identityRefused)
                #expect(error?.cause.contains("set up anew") == true)
            }
        }
    }

    @Test func `If no courier listens, a request fails as not connected`() async throws {
        let delegate = RecordingDelegate()
        try await ScriptedCourier.run(act: Self.first(.hang)) { courier in
            var address = courier.address
            address.port = 1
            let device = try Device(courier.identity, at: address, delegate: delegate)
            let error = await #expect(throws: DeviceError.self) { try await device.register("com.example.app") }
            #expect(error?.code == .notConnected)
            await device.close()
        }
    }

    @Test(arguments: ["", "<html>", "{}", #"{"token":7}"#, "[]"])
    func `If the answer to a registration has no device token, the error says so`(_ body: String) async throws {
        try await ScriptedCourier.run(act: { _ in .answer(200, body) }) { courier in
            let device = try Device(courier.identity, at: courier.address, delegate: RecordingDelegate())
            let error = await #expect(throws: DeviceError.self) { try await device.register("com.example.app") }
            #expect(error?.code == .badResponse)
            await device.close()
        }
    }

    @Test func `A request that is not answered fails after a time limit`() async throws {
        try await ScriptedCourier.run(act: { _ in .hang }) { courier in
            var configuration = Device.Configuration()
            configuration.requestTimeout = .milliseconds(200)
            let device = try Device(
                courier.identity, at: courier.address, delegate: RecordingDelegate(), configuration: configuration)
            let error = await #expect(throws: DeviceError.self) { try await device.register("com.example.app") }
            #expect(error?.code == .timedOut)
            await device.close()
        }
    }

    /// The courier answers PING, so that only a time limit notices.
    @Test func `A stream on a connection in use that is not answered has a time limit`() async throws {
        let delegate = RecordingDelegate()
        let streams = Observed(0)
        let act: @Sendable (ScriptedCourier.Request) -> ScriptedCourier.Act = { request in
            guard request.path == "/1/notifications" else { return .answer(204, "") }
            streams.update { $0 += 1 }
            return streams.value == 1 ? .hang : .stream(ScriptedCourier.line(9))
        }
        try await ScriptedCourier.run(act: act) { courier in
            var configuration = Device.Configuration()
            configuration.connectTimeout = .seconds(2)
            configuration.reconnection.shortest = .milliseconds(1)
            let device = try Device(
                courier.identity, at: courier.address, delegate: delegate, configuration: configuration)
            // A busy machine may need more than the time limit for the handshake.
            try await wait(while: try await Self.timesOut { try await device.unregister("com.example.app") })
            let running = Task { try await device.run() }
            try await delegate.record.wait { !$0.notifications.isEmpty }
            await device.close()
            try await running.value
        }
        #expect(delegate.record.value.failures.first == .timedOut)
    }

    private static func timesOut(_ request: () async throws -> Void) async throws -> Bool {
        do {
            try await request()
            return false
        } catch let error as DeviceError where error.code == .timedOut {
            return true
        }
    }

    @Test func `An identity with the key of another certificate is refused`() async throws {
        try await ScriptedCourier.run(act: { _ in .hang }) { courier in
            var identity = courier.identity
            identity.keyPEM = P256.Signing.PrivateKey().pemRepresentation
            let error = #expect(throws: DeviceError.self) {
                _ = try Device(identity, at: courier.address, delegate: RecordingDelegate())
            }
            #expect(error?.code == .badIdentity)
        }
    }

    @Test(arguments: ["", "key", "chain"])
    func `An identity without a readable key or chain is refused`(_ part: String) async throws {
        try await ScriptedCourier.run(act: { _ in .hang }) { courier in
            var identity = courier.identity
            if part != "key" { identity.chainPEM = "nothing" }
            if part != "chain" { identity.keyPEM = "nothing" }
            let error = #expect(throws: DeviceError.self) {
                _ = try Device(identity, at: courier.address, delegate: RecordingDelegate())
            }
            #expect(error?.code == .badIdentity)
        }
    }
}

/// Sends bytes to every client that connects, and nothing more.
private final class Greeting: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let text: String

    init(_ text: String) { self.text = text }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }
}

/// A program that is not a courier answers on the courier's port.
@Suite(.timeLimit(.minutes(2))) struct StrangeCourierTests {
    /// Accepts connections, counts them, and greets each with these bytes.
    private static func listening(
        _ greeting: String,
        _ body: (CourierAddress, APNSDevice.DeviceIdentity, Observed<Int>) async throws -> Void,
    ) async throws {
        let accepted = Observed(0)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                accepted.update { $0 += 1 }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Greeting(greeting))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        try await ScriptedCourier.run(act: { _ in .hang }) { courier in
            var address = courier.address
            address.port = try #require(listener.localAddress?.port)
            try await body(address, courier.identity, accepted)
        }
        try await listener.close()
    }

    @Test func `An activation that waits for a silent peer ends when its task is cancelled`() async throws {
        try await Self.listening("") { address, _, accepted in
            let activation = Task { try await DeviceIdentity.activate(at: address, environment: .development) }
            try await accepted.wait { $0 == 1 }
            activation.cancel()
            let error = await #expect(throws: DeviceError.self) { try await activation.value }
            #expect(error?.code == .closed, "\(error?.cause ?? "")")
        }
    }

    @Test(arguments: [
        ("", DeviceError.Code.timedOut), ("HTTP/1.1 400 Bad Request\r\n\r\n", .disconnected),
        ("\u{15}\u{3}\u{3}", .timedOut),
    ])
    func `The device reports a peer that sends nothing, something that is not TLS, or half a record`(
        _ greeting: String, _ code: DeviceError.Code,
    ) async throws {
        let delegate = RecordingDelegate()
        try await Self.listening(greeting) { address, identity, accepted in
            var configuration = Device.Configuration()
            if code == .timedOut { configuration.connectTimeout = .milliseconds(300) }
            configuration.reconnection.shortest = .milliseconds(1)
            configuration.reconnection.longest = .milliseconds(5)
            let device = try Device(identity, at: address, delegate: delegate, configuration: configuration)
            let running = Task { try await device.run() }
            // The error is reported, and the device tries again.
            try await accepted.wait { $0 >= 3 }
            try await delegate.record.wait { $0.failures.count >= 2 }
            await device.close()
            try await running.value
        }
        #expect(Set(delegate.record.value.failures) == [code])
    }
}
