import CommonTesting
import Credentials
import Crypto
import Foundation
import HTTP2
import NIOCore
import NIOPosix
import NIOSSL
import Notifications
import Testing
import Trust

@testable import APNSDevice

/// A courier over real TLS and HTTP/2 that does what a test tells it, even against the protocol.
final class ScriptedCourier: Sendable {
    /// What the courier does with a request.
    enum Act: Sendable {
        case answer(Int, String)
        /// Answers 200 with these bytes, and keeps the stream open.
        case stream(String)
        /// Answers 200, and sends each part after the first when an acknowledgement has arrived.
        case streamInParts([String])
        /// Does not answer.
        case hang
        /// Closes the connection without a message.
        case vanish
        /// Answers with these bytes, and then closes the connection.
        case streamAndVanish(String)
        /// Opens the stream, and reads nothing more from the connection.
        case streamAndFreeze
        /// Answers with a new certificate for the request's key.
        case certify
        /// Sends GOAWAY with this reason.
        case goAway(String)
        /// Sends GOAWAY, an answer, and one more line on the stream.
        case goAwayWith(line: String)
    }

    struct Request: Sendable {
        var method = ""
        var path = ""
        var body = ""
        /// The number of the request's connection, from 1.
        var connection = 0
    }

    struct Record: Sendable {
        var connections = 0
        /// The requests that have ended.
        var requests: [Request] = []
        /// The acknowledged numbers, one list for each acknowledgement.
        var acknowledgements: [[Int]] = []
        /// The acknowledged numbers on all connections after the first, one list for each acknowledgement.
        var laterAcknowledgements: [[Int]] = []

        func bodies(_ path: String) -> [String] { requests.filter { $0.path == path }.map(\.body) }
    }

    let record = Observed(Record())
    /// Whether acknowledgements are answered before their request has ended.
    let answersEarly = Observed(false)
    let address: CourierAddress
    let identity: APNSDevice.DeviceIdentity
    fileprivate let authority: CertificateAuthority
    private let channels = Observed<[any Channel]>([])

    private init(address: CourierAddress, identity: APNSDevice.DeviceIdentity, authority: CertificateAuthority) {
        self.authority = authority
        self.address = address
        self.identity = identity
    }

    /// Runs a courier while `body` runs.
    /// - Parameters:
    ///   - identityAge: how long ago the device was activated, in seconds.
    ///   - serverAge: how long ago the courier's certificate was made, in seconds; negative for the future.
    ///   - act: returns what to do with a request.
    static func run(
        identityAge: Double = 0,
        serverAge: Double = 0,
        act: @escaping @Sendable (Request) -> Act,
        _ body: (ScriptedCourier) async throws -> Void,
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sc-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Ignore a failure to remove the folder: it does no harm if it stays.
        defer { try? FileManager.default.removeItem(at: folder) }
        let now = Date().timeIntervalSince1970
        var random = SystemRandomNumberGenerator()
        let authority = try CertificateAuthority.create(now: now - 800 * 86_400, using: &random)
        let root = folder.appendingPathComponent("ca.pem").path
        try Data(authority.rootPEM.utf8).write(to: URL(fileURLWithPath: root))
        let key = P256.Signing.PrivateKey()
        let issued = try authority.issueDeviceCertificate(
            request: Array(SigningRequest.pem(for: key).utf8), device: DeviceID(rawValue: 7),
            environment: .development, now: now - identityAge, using: &random)
        let identity = APNSDevice.DeviceIdentity(
            environment: APNSDevice.DeviceIdentity.Environment.development, deviceID: "0000000000000007",
            keyPEM: key.pemRepresentation, chainPEM: issued.chainPEM)
        let server = try authority.issueServerCertificate(names: [], now: now - serverAge, using: &random)
        let context = try serverContext(server, root: root)
        let box = Observed<ScriptedCourier?>(nil)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let courier = box.value else { return }
                    let tls = NIOSSLServerHandler(context: context) { chain, promise in
                        // Check the certificate by the authority's own rules, as the service does.
                        let peer = try? authority.verifyPeer(
                            chain: chain.map { try $0.toDERBytes() }, as: .device, now: now)
                        promise.succeed(peer == nil ? .failed : .certificateVerified)
                    }
                    courier.channels.update { $0.append(channel) }
                    courier.record.update { $0.connections += 1 }
                    let application = ScriptedConnection(
                        courier, number: courier.record.value.connections, channel: channel, act: act)
                    try channel.pipeline.syncOperations.addHandlers([
                        tls,
                        HTTP2Session(role: .server, configuration: HTTP2Configuration(), application: application),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let courier = ScriptedCourier(
            address: CourierAddress(host: "127.0.0.1", port: port, authorityFile: root), identity: identity,
            authority: authority)
        box.update { $0 = courier }
        try await withCleanUp {
            try await body(courier)
        } cleanUp: {
            try await listener.close()
        }
        for channel in courier.channels.value { channel.close(promise: nil) }
    }

    private static func serverContext(_ server: IssuedCertificate, root: String) throws -> NIOSSLContext {
        let key = try #require(server.keyPEM)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(server.chainPEM.utf8))
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)))
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .file(root)
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }

    /// Runs a device against the courier while `body` runs.
    /// - Returns: how the device's run ended.
    @discardableResult
    func device(
        _ delegate: RecordingDelegate,
        _ change: (inout Device.Configuration) -> Void = { _ in },
        _ body: (Device) async throws -> Void,
    ) async throws -> DeviceError? {
        var configuration = Device.Configuration()
        configuration.reconnection.shortest = .milliseconds(1)
        configuration.reconnection.longest = .milliseconds(5)
        configuration.closeTimeout = .seconds(1)
        change(&configuration)
        let device = try Device(identity, at: address, delegate: delegate, configuration: configuration)
        let running = Task { () -> DeviceError? in
            do throws(DeviceError) {
                try await device.run()
                return nil
            } catch {
                return error
            }
        }
        try await withCleanUp {
            try await body(device)
        } cleanUp: {
            await device.close()
        }
        return await running.value
    }

    /// The line of a notification on the stream.
    static func line(_ sending: Int, id: Int = 0, payload: String = #"{"aps":{"alert":"Hello"}}"#) -> String {
        let digits = String(id == 0 ? sending : id)
        let uuid = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        return #"{"sending":\#(sending),"id":"\#(uuid)","topic":"com.example.app","bundleID":"com.example.app","#
            + #""priority":10,"payload":\#(payload)}"# + "\n"
    }
}

/// One connection. Confined to its event loop.
private final class ScriptedConnection: HTTP2Application {
    private let courier: ScriptedCourier
    private let number: Int
    private let channel: any Channel
    private let act: @Sendable (ScriptedCourier.Request) -> ScriptedCourier.Act
    private var session: HTTP2Session?
    private var requests: [StreamID: ScriptedCourier.Request] = [:]
    /// The part of an acknowledgement that has arrived.
    private var acknowledgement = ""
    private var parts: (stream: StreamID, rest: ArraySlice<String>)?

    init(
        _ courier: ScriptedCourier,
        number: Int,
        channel: any Channel,
        act: @escaping @Sendable (ScriptedCourier.Request) -> ScriptedCourier.Act,
    ) {
        self.courier = courier
        self.number = number
        self.channel = channel
        self.act = act
    }

    func sessionBecameActive(_ session: HTTP2Session) { self.session = session }
    func sessionClosed(_ end: SessionEnd) { session = nil }
    func fieldsReceived(_ stream: StreamID, _ fields: FieldList, endStream: Bool) {
        var request = ScriptedCourier.Request(connection: number)
        fields.forEach { name, value, _ in
            if name.isEqual(to: ":method") { request.method = value.text }
            if name.isEqual(to: ":path") { request.path = value.text }
        }
        requests[stream] = request
    }

    func dataReceived(_ stream: StreamID, bytes: Span<UInt8>) {
        requests[stream]?.body += bytes.text
        guard requests[stream]?.path == "/1/acknowledgements" else { return }
        for character in bytes.text {
            acknowledgement.append(character)
            if character == "}" { acknowledged(stream) }
        }
    }

    /// Handles a complete acknowledgement.
    private func acknowledged(_ stream: StreamID) {
        let numbers = acknowledgement.split { !$0.isNumber }.compactMap { Int($0) }
        acknowledgement = ""
        courier.record.update {
            $0.acknowledgements.append(numbers)
            if number > 1 { $0.laterAcknowledgements.append(numbers) }
        }
        if courier.answersEarly.value { answer(stream, 204, "") }
        if let next = parts?.rest.popFirst() { send(next) }
    }

    func streamEnded(_ stream: StreamID) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        courier.record.update { $0.requests.append(request) }
        switch act(request) {
        case .answer(let status, let body): answer(stream, status, body)
        case .stream(let text): begin(stream, text)
        case .streamInParts(let all):
            parts = (stream, all.dropFirst())
            begin(stream, all.first ?? "")
        case .hang: break
        case .certify: certify(stream, request)
        case .vanish: channel.close(promise: nil)
        case .streamAndVanish(let text):
            begin(stream, text)
            session?.flush()
            channel.close(promise: nil)
        case .streamAndFreeze:
            begin(stream, "")
            channel.setOption(.autoRead, value: false).whenComplete { _ in }
        case .goAway(let reason):
            session?.goAway(.noError, debugData: Array(#"{"reason":"\#(reason)"}"#.utf8))
            session?.close()
        case .goAwayWith(let line):
            session?.goAway(.noError)
            answer(stream, 204, "")
            send(line)
        }
    }

    /// Adds text to the stream of parts.
    private func send(_ text: String) {
        if let parts { session?.write(parts.stream, ByteBuffer(string: text)) }
    }

    private func answer(_ stream: StreamID, _ status: Int, _ body: String) {
        var headers = FieldList()
        headers.append(":status", String(status))
        session?.respond(stream, headers, body: body.isEmpty ? nil : ByteBuffer(string: body))
    }

    private func certify(_ stream: StreamID, _ request: ScriptedCourier.Request) {
        var random = SystemRandomNumberGenerator()
        // An invalid request gets an empty answer.
        let issued = try? courier.authority.issueDeviceCertificate(
            request: Array(request.body.utf8), device: DeviceID(rawValue: 7), environment: .development,
            now: Date().timeIntervalSince1970, using: &random)
        answer(stream, 200, issued?.chainPEM ?? "")
    }

    private func begin(_ stream: StreamID, _ text: String) {
        var headers = FieldList()
        headers.append(":status", "200")
        session?.sendHeaders(stream, headers, endStream: false)
        session?.write(stream, ByteBuffer(string: text))
    }
}
