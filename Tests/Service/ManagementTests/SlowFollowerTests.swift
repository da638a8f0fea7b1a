import Foundation
import NIOCore
import NIOPosix
import Service
import Testing

@testable import ServiceTesting

#if os(Linux)
    /// Clients that follow the delivery log or the journal and do not read.
    @Suite(.timeLimit(.minutes(2)))
    struct SlowFollowerTests {
        /// The resident memory of this process, in bytes.
        private static func resident() throws -> Int {
            let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return try required(Int(try required(pages.dropFirst().first))) * Int(sysconf(Int32(_SC_PAGESIZE)))
        }

        @Test(arguments: ["/v1/log", "/v1/requests"])
        func `Followers that do not read hold little, and do not keep the service from ending`(
            path: String
        ) async throws {
            try await TestService.run { test in
                let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .channelOption(.autoRead, value: false)
                for _ in 0..<60 {
                    let follower = try await bootstrap.connect(unixDomainSocketPath: test.description.socket).get()
                    try await follower.writeAndFlush(
                        ByteBuffer(string: "GET \(path)?follow=true HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                }
                let before = try Self.resident()
                let provider = try await HandmadeClient(test)
                try await provider.openWindow(0x7fff_ffff - 65_535)
                let headers = ProviderHeaders(String(repeating: "5a", count: 32), token: nil).fields
                for _ in 0..<30 { for _ in 0..<100 { _ = try await provider.body(headers) } }
                // The answer has everything that was recorded before.
                _ = try await test.manage("GET", "/v1/log?limit=1")
                let grown = try Self.resident() - before
                // Each of them kept 8 MB of the delivery log before there was a limit.
                #expect(grown < 100 << 20, "\(grown)")
                await provider.close()
            }
            // The service has ended, with all of them connected.
        }
    }
#endif
