import APNSProvider
@testable import CarillonTesting
import Management
import NIOCore
import NIOPosix
import NIOSSL
import Testing

/// What a test says if the backend has sent nothing because its connections fail.
@Suite(.timeLimit(.minutes(2)), .apns)
struct FailedConnectionTests {
    private let whose = "a connection since this test began, perhaps another test's"

    /// Waits until connections of the test's service have failed. The team of the test sees no failed connection.
    private func waitForFailures(_ count: Int) async throws {
        let question = ManagementMessages.Wait(match: ["outcome": "failed"], count: count, timeout: "PT60S")
        let _: Ignored = try await TestAPNs.current.management.ask(
            "POST", "/v1/requests/wait", question, timeLimit: .seconds(60))
    }

    /// Connects, and sends a request of HTTP/1.
    private func connect(to team: TestTeam, _ configuration: TLSConfiguration) async throws {
        let context = try NIOSSLContext(configuration: configuration)
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: nil))
                }
            }
            .connect(host: team.host, port: team.port).get()
        // The handshake may fail, and the service then ends the connection.
        try? await channel.writeAndFlush(
            ByteBuffer(string: "POST /3/device/00 HTTP/1.1\r\ncontent-length: 0\r\n\r\n"))
        try? await channel.close()
    }

    @Test
    func `A wait says that the backend does not trust the authority`() async throws {
        let team = try await TestAPNs.current.makeTeam()
        try await connect(to: team, .makeClientConfiguration())
        try await waitForFailures(1)
        let error = await #expect(throws: TestAPNsError.self) { try await team.wait(timeout: .zero) }
        let cause = try #require(error?.cause)
        #expect(cause.hasPrefix("The backend does not trust the service (\(whose): "), "\(cause)")
        #expect(cause.contains("): let it trust the authority in apns.authorityPEM, and connect to "), "\(cause)")
        #expect(cause.hasSuffix("\n0 requests matched within 0.0 seconds, instead of 1."), "\(cause)")
        let sent = try await TestAPNs.current.sent()
        #expect(sent.first?.hasPrefix("#1, a connection of 127.0.0.1:") == true, "\(sent)")
        // It is not the connection of a test that begins later.
        let later = try await TestAPNs.current.makeTeam()
        let other = await #expect(throws: TestAPNsError.self) { try await later.wait(timeout: .zero) }
        #expect(other?.cause.contains("The backend has sent nothing") == true, "\(other?.cause ?? "")")
    }

    @Test(arguments: [["http/1.1"], []])
    func `A wait says that the backend does not speak HTTP 2`(_ protocols: [String]) async throws {
        let team = try await TestAPNs.team()
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(team.authorityPEM.utf8)))
        configuration.applicationProtocols = protocols
        try await connect(to: team, configuration)
        try await waitForFailures(1)
        let error = await #expect(throws: TestAPNsError.self) { try await team.wait(timeout: .zero) }
        let how = protocols.isEmpty ? "it sent a request of HTTP/1" : "it offered only http/1.1"
        #expect(
            error?.cause.hasPrefix("The backend does not speak HTTP/2 (\(whose): \(how)): APNs takes nothing else")
                == true,
            "\(error?.cause ?? "")")
    }

    @Test
    func `A wait for a message of Web Push says where to send`() async throws {
        let team = try await TestAPNs.team()
        let subscription = try await team.webPush(subscription: "one")
        let newest = try await team.webPush(subscription: "two")
        func says(_ place: String, _ pattern: RequestPattern) async throws {
            let error = await #expect(throws: TestAPNsError.self) { try await team.wait(for: pattern, timeout: .zero) }
            let cause = try #require(error?.cause)
            #expect(cause.contains("has sent nothing: it has to \(place), and trust"), "\(cause)")
        }
        try await says("send to \(newest.endpoint)", RequestPattern())
        try await says("send to \(newest.endpoint)", RequestPattern(text: "Hello"))
        try await says("send to \(subscription.endpoint)", RequestPattern(subscription: "one"))
        // It may be about the phone.
        _ = try await team.device()
        try await says("connect to \(team.url)", RequestPattern())
    }

    @Test
    func `If the journal is off, a wait and the requests say so`() async throws {
        let team = try await TestAPNs.team()
        let _: Ignored = try await TestAPNs.current.management.ask(
            "PUT", "/v1/journal", ["keep": 0])
        for count in [0, 1] {
            let error = await #expect(throws: TestAPNsError.self) { try await team.wait(count: count, timeout: .zero) }
            #expect(error?.cause.contains("The journal is off, so nobody knows what was sent") == true)
        }
        let error = await #expect(throws: TestAPNsError.self) { try await team.requests() }
        #expect(error?.cause.contains("is off, so nobody knows what was sent: start it with --journal 10000") == true)
        let sent = try await TestAPNs.current.sent()
        #expect(sent == [error?.cause])
    }
}
