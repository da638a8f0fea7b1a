import Foundation
import Notifications
import Testing

/// The commands in README.md and docs/test-your-provider.md, in blocks marked `sh`, work if they are pasted into a
/// shell.
@Suite(.timeLimit(.minutes(2))) struct DocumentCommandTests {
    /// The marked blocks of a document, one after the other, without the commands that do not end by themselves.
    private static func script(_ document: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
        let blocks = text.components(separatedBy: "```sh\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        return blocks.joined().split(separator: "\n")
            .filter { !$0.hasPrefix("carillon device listen") }
            .joined(separator: "\n")
    }

    /// Runs a document's commands in a folder where a service keeps its data in `carillon-data`.
    private func run(_ document: String, after preparation: String = "") async throws -> ChildProcess.Finished {
        let script = try Self.script(document)
        return try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/bin", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/bin/carillon", withDestinationPath: BuiltCommand.path)
            return try await CarillonProcess.with(data: folder + "/carillon-data") { service in
                let pasted =
                    script
                    .replacing("127.0.0.1:2197", with: try service.addresses(.development).provider)
                    .replacing("curl ", with: "curl -q -sS -f --noproxy '*' ")
                return try await ChildProcess.run(
                    "sh", ["-e", "-c", "PATH=$PWD/bin:$PATH\n\(preparation)\n\(pasted)"], folder: folder)
            }
        }
    }

    @Test func `The readmes commands work`() async throws {
        #expect(try Self.script("README.md").contains("carillon send"))
        let finished = try await run("README.md")
        #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
    }

    @Test func `A team brings its own identifiers and key`() async throws {
        let document = "docs/test-your-provider.md"
        #expect(try Self.script(document).contains("carillon key create"))
        let key = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_KEY1234567.p8"
        let finished = try await run(document, after: key)
        #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
    }
}
