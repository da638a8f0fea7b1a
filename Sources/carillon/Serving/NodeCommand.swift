import ArgumentParser
import CommandSupport
import HTTPAPIClient
import Management

struct NodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "node", abstract: "The nodes of a cluster: the services that use one PostgreSQL store.",
        subcommands: [
            ListCommand<ManagementMessages.Node>.self, ShowCommand<ManagementMessages.Node>.self, Drain.self,
            RemoveCommand<ManagementMessages.Node>.self,
        ])

    struct Drain: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a node send its providers and devices to other nodes, and wait until this is done.",
            discussion: "Afterwards it accepts no clients until it is started again.")

        @OptionGroup var common: CommonOptions

        @Argument(help: "The node's name.")
        var name: String

        @Option(help: "The time over which its connections end, as an ISO 8601 duration (PT30S).")
        var over = "PT30S"

        func run() async throws {
            let client = try common.management()
            let path = try ManagementMessages.Node.path(of: name)
            var node: ManagementMessages.Node = try await client.ask(
                .POST, path + "/drain", ManagementMessages.NodeDrain(over: over))
            while node.state == "draining" {
                try await Task.sleep(for: .milliseconds(250))
                node = try await client.ask(.GET, path)
            }
            guard node.state == "drained" else {
                throw CommandError("The node \(name) ended before it was drained: its state is \(node.state).")
            }
            common.output.print(node, "The node \(name) has no clients any more.")
        }
    }
}

extension ManagementMessages.Node: RemovableItem {
    static let path = "/v1/nodes"
    static let plural = "nodes"
    static let singular = "a node"
    static let argument = (help: "The node's name", value: "name")
    static let removal = (command: "remove", abstract: "Forget a node that does not run.", discussion: "")

    var itemName: String { name }

    var line: String { "\(name)  \(state)  \(peer ?? "no address for other nodes")" }

    static func line(_ removed: ManagementMessages.Node) -> String { "Removed the node \(removed.name)." }
}
