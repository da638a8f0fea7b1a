import CommonTesting
import Foundation
import Notifications
import Testing

@testable import ServiceTesting

/// The commands in README.md and docs/test-your-provider.md, in blocks marked `sh`, and the first ones of
/// docs/provider-server.md, work if they are pasted into a
/// shell.
@Suite(.timeLimit(.minutes(2))) struct DocumentedCommandsTests {
    /// The marked blocks of a document.
    private static func blocks(_ document: String) throws -> [String] {
        let text = try Repository.text(document)
        return text.components(separatedBy: "```sh\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }

    /// The marked blocks, one after the other, without the commands that do not end by themselves.
    private static func script(_ document: String) throws -> String {
        try blocks(document).joined().split(separator: "\n")
            .filter { !$0.hasPrefix("carillon device listen") }
            .joined(separator: "\n")
    }

    /// Runs commands in a folder where a service keeps its data in `carillon-data`.
    private func run(
        _ script: String,
        after preparation: String = "",
        then further: String = "",
    ) async throws -> ChildProcess.Finished {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/bin", withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/bin/carillon", withDestinationPath: BuiltCommand.path)
            return try await CarillonProcess.with(data: folder + "/carillon-data") { service in
                let pasted =
                    script
                    .replacing("127.0.0.1:2197", with: try service.addresses(.development).provider)
                    .replacing("curl ", with: "curl -q -sS -f --noproxy '*' ")
                return try await ChildProcess.run(
                    "sh", ["-e", "-c", "PATH=$PWD/bin:$PATH\n\(preparation)\n\(pasted)\n\(further)"], folder: folder)
            }
        }
    }

    @Test func `The readmes commands work`() async throws {
        #expect(try Self.script("README.md").contains("carillon send"))
        let finished = try await run(try Self.script("README.md"))
        #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
    }

    @Test func `The provider server's first campaign works`() async throws {
        let document = "docs/provider-server.md"
        let block = try Self.blocks(document).first ?? ""
        #expect(block.contains("carillon provider serve &") && block.split(separator: "\n").count == 5)
        // The server runs in the background, and ends with the shell.
        let finished = try await run(
            block.replacing("provider serve", with: "provider serve --listen 127.0.0.1:0"),
            after: "trap 'kill $!; wait' EXIT",
            then: """
                id=$(carillon provider message list | cut -d ' ' -f 1)
                carillon provider message show --follow $id | grep 'finished  accepted 1  failed 0'
                """)
        #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
    }

    @Test func `A team brings its own identifiers and key`() async throws {
        let document = "docs/test-your-provider.md"
        #expect(try Self.script(document).contains("carillon key create"))
        let key = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_KEY1234567.p8"
        let finished = try await run(try Self.script(document), after: key)
        #expect(finished.status == 0, "\(finished.output) \(finished.errors)")
    }
}
