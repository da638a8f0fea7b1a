import Delivery
package import HTTPAPI
import Hummingbird
import Matching
import Notifications
import Storage

// The nodes of a cluster.
extension ManagementOperations {
    static let nodes = [
        ManagementOperation(
            method: .get, path: "/v1/nodes", summary: "The nodes that use the store",
            parameters: .list(after: "name", .nodeName), answer: .json(.array(ManagementMessages.Node.schema)),
            problems: [409]
        ) { api, call in
            let nodes = try await api.cluster().nodes()
            return ListPage.make(of: nodes.map(\.name), call) { name in
                nodes.first { $0.name == name }.map { ManagementMessages.Node($0) }
            }
        },
        ManagementOperation(
            method: .get, path: "/v1/nodes/{name}", summary: "One node", parameters: [name],
            answer: .json(ManagementMessages.Node.schema), problems: [404, 409]
        ) { api, call in
            .json(try await api.node(call.parameter("name")))
        },
        ManagementOperation(
            method: .post, path: "/v1/nodes/{name}/drain",
            summary: "Have a node send its providers and devices to other nodes", parameters: [name],
            body: Body(reading: ManagementMessages.NodeDrain.schema, isOptional: true),
            answer: .json(ManagementMessages.Node.schema),
            problems: [404, 409, 413, 415]
        ) { api, call in
            .json(try await api.drain(call.parameter("name"), try call.message()))
        },
        ManagementOperation(
            method: .delete, path: "/v1/nodes/{name}", summary: "Forget a node that does not run", parameters: [name],
            answer: .json(ManagementMessages.Node.schema), problems: [404, 409]
        ) { api, call in
            .json(try await api.removeNode(call.parameter("name")))
        },
    ]

    private static let name = Parameter.path("name", .nodeName, "The node's name.")
}

extension ManagementAPI {
    func cluster() throws -> any ClusterNodes {
        guard let cluster = parts.cluster else {
            throw Problem(409, "This service is no node of a cluster: it has no PostgreSQL store.")
        }
        return cluster
    }

    func node(_ name: String) async throws -> ManagementMessages.Node {
        guard let node = try await cluster().nodes().first(where: { $0.name == name }) else {
            throw StoreError.noNode(name)
        }
        return ManagementMessages.Node(node)
    }

    func drain(_ name: String, _ request: ManagementMessages.NodeDrain) async throws -> ManagementMessages.Node {
        guard let time = Duration(iso8601: request.over ?? "PT30S"), time <= ManagementLimits.drain else {
            throw Problem.invalid(
                "/over", "The value has to be \(TextFormat.duration.name), at most PT1H.")
        }
        try await cluster().drain(node: name, over: time)
        return try await node(name)
    }

    /// - Returns: The node as it was.
    func removeNode(_ name: String) async throws -> ManagementMessages.Node {
        let node = try await node(name)
        try await cluster().remove(node: name)
        return node
    }
}

extension ManagementMessages {
    package struct Node: JSONMessage {
        package let name: String
        package let peer: String?
        package let state: String

        package static let form: JSONForm<Node> = .object(
            "Node", Node.init(name:peer:state:),
            .required("name", .text(.nodeName), \.name),
            .optional("peer", .text(.any), \.peer, "Where other nodes reach it, as host:port."),
            .required("state", .text(.nodeState), \.state, "gone: it has not renewed its lease."))
    }

    package struct NodeDrain: JSONMessage {
        package let over: String?

        package init(over: String?) { self.over = over }

        package static let form: JSONForm<NodeDrain> = .object(
            "NodeDrain", NodeDrain.init,
            .optional(
                "over", .text(.duration), \.over,
                "The time over which its connections are ended evenly, at most PT1H; PT30S if it is not given."))
    }
}

extension ManagementMessages.Node {
    init(_ node: ClusterNode) {
        let state =
            switch node.state {
            case .active: "active"
            case .draining: "draining"
            case .drained: "drained"
            case .gone: "gone"
            }
        self.init(name: node.name, peer: node.peer, state: state)
    }
}

extension TextFormat {
    fileprivate static let nodeState = oneOf(["active", "draining", "drained", "gone"])
}
