#if os(Linux)
    import CommonTesting
    import Foundation
    import Testing

    @testable import DeviceAgent
    @testable import ServiceTesting

    /// What is kept from the commands of apps if links lead to it.
    @Suite(.startsPrograms, .timeLimit(.minutes(1))) struct ConfinementTests {
        /// Has the folders `kept/state` and `links`. A link in the latter leads to the former.
        private func withLink(_ body: (_ state: String, _ link: String) async throws -> Void) async throws {
            try await withTemporaryPath { path in
                let manager = FileManager.default
                for folder in ["/kept/state", "/links"] {
                    try manager.createDirectory(atPath: path + folder, withIntermediateDirectories: true)
                }
                let folder = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
                let link = folder + "/links/state"
                try manager.createSymbolicLink(atPath: link, withDestinationPath: "../kept/state")
                try await body(folder + "/kept/state", link)
            }
        }

        @Test func `The places that lead to a file are each link on the way, and the file`() async throws {
            try await withLink { state, link in
                try FileManager.default.createSymbolicLink(atPath: link + "/self", withDestinationPath: link)
                #expect(try Confinement.places(of: link + "/./self/../state") == [link, state + "/self", link, state])
                #expect(try Confinement.places(of: link + "/missing") == [link])
            }
        }

        @Test(.enabled(if: Confinement.isPossible, "it needs a kernel with Landlock"))
        func `A confined command cannot replace a link that leads to a hidden folder`() async throws {
            try await withLink { _, link in
                let command = ["/bin/sh", "-c", #"rm "$0"; echo "it ran""#, link]
                let confined = try await ChildProcess.run(BuiltCommand.agentPath, ["confine", "1", link] + command)
                #expect(confined.output == "it ran\n", "\(confined.errors)")
                #expect(throws: Never.self) {
                    try FileManager.default.destinationOfSymbolicLink(atPath: link)
                }
            }
        }
    }
#endif
