import CommonTesting
import Foundation
import Service
import Testing

@testable import ServiceTesting

/// The lines of docs/administration.md that begin with `curl` work if they are pasted into a shell.
@Suite(.timeLimit(.minutes(2))) struct DocumentedManagementTests {
    private static var lines: [String] {
        get throws {
            let text = try Repository.text("docs/administration.md")
            return text.split(separator: "\n").filter { $0.hasPrefix("curl ") }.map(String.init)
        }
    }

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

    @Test func `Each curl line is answered 200 in their order`() async throws {
        let lines = try Self.lines
        #expect(lines.count >= 8)
        try await CarillonProcess.with { service in
            let description = try ServiceDescription.read(DataFolder(service.data))
            let management = try #require(description.management)
            let environment = [
                "SOCKET": description.socket,
                "URL": management.url,
                "KEY": try String(contentsOfFile: management.keyFile, encoding: .utf8).trimmingCharacters(
                    in: .whitespacesAndNewlines),
            ]
            for line in lines {
                // End a stream that does not end by itself after a second. Its status arrives before that.
                let limit = line.contains("follow=true") ? " -m 1" : ""
                let quiet = "curl -q -sS --noproxy '*' -o /dev/null -w '%{http_code}'\(limit) " + line.dropFirst(5)
                let finished = try await ChildProcess.run("sh", ["-c", quiet], environment: environment)
                #expect(finished.output.hasSuffix("200"), "\(line): \(finished.output) \(finished.errors)")
            }
        }
    }
}
