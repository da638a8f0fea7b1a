import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// Requests to the management API by curl, as docs/administration.md shows them.
@Suite(.timeLimit(.minutes(2))) struct ManagementWithCurlTests {
    /// Some clients, such as Java's, begin with HTTP/1.1 and offer an upgrade to HTTP/2.
    @Test func `A client that offers another protocol is answered and reads on`() async throws {
        try await CarillonProcess.with { service in
            let socket = try ServiceDescription.read(DataFolder(service.data)).socket
            let url = "http://localhost/v1/teams"
            let finished = try await ChildProcess.run(
                "curl",
                [
                    "-q", "-sS", "-m", "60", "--http2", "--unix-socket", socket, "-o", "/dev/null", url,
                    "-o", "/dev/null", url, "-o", "/dev/null", url, "-w", "%{http_code} ",
                ])
            #expect(finished.status == 0, "\(finished.errors)")
            #expect(finished.output == "200 200 200 ")
        }
    }
}
