package import Delivery
import PostgresClient
import PostgresSupport
package import Storage

extension PostgresStore: ClusterNodes {
    package var node: NodeID { NodeID(bytes: configuration.node.identity) }

    package func nodes() async throws(StoreError) -> [ClusterNode] {
        let rows = try await read(
            "SELECT identity, name, peer, until > clock_timestamp(), state, drain_over FROM carillon.node", [])
        let nodes = try rows.map { row throws(StoreError) in
            guard let identity = row.bytes(0), let name = row.bytes(1), let isAlive = row.bool(3),
                let stored = row.integer(4).flatMap(NodeState.init(rawValue:))
            else { throw PostgresError.damaged("a node").storeError }
            let state: ClusterNode.State =
                switch stored {
                case _ where !isAlive: .gone
                case .active: .active
                case .draining: .draining(over: .milliseconds(row.integer(5) ?? 0))
                case .drained: .drained
                }
            return ClusterNode(
                id: NodeID(bytes: identity), name: String(decoding: name, as: UTF8.self), peer: row.text(2),
                state: state)
        }
        return nodes.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    package func drain(node name: String, over time: Duration) async throws(StoreError) {
        let (seconds, attoseconds) = time.components
        let milliseconds = seconds.multipliedReportingOverflow(by: 1000)
        let over = milliseconds.overflow ? .max : milliseconds.partialValue + attoseconds / 1_000_000_000_000_000
        // A node that is already being drained, or was, stays as it is.
        let answers = try await Self.execute(
            [
                PostgresStatement(
                    """
                    UPDATE carillon.node SET state = $2, drain_over = $3
                    WHERE name = $1 AND state = $4 AND until > clock_timestamp()
                    """,
                    [
                        .bytes(Array(name.utf8)), .integer(NodeState.draining.rawValue), .integer(over),
                        .integer(NodeState.active.rawValue),
                    ]),
                PostgresStatement(
                    "SELECT until > clock_timestamp() FROM carillon.node WHERE name = $1", [.bytes(Array(name.utf8))]),
            ], on: control)
        guard let isAlive = answers.last?.first?.bool(0) else { throw .noNode(name) }
        guard isAlive else {
            throw StoreError(.conflict, "The node \(name) does not run; carillon node remove forgets it.")
        }
    }

    package func announce(peer: String) async throws(StoreError) {
        _ = try await Self.execute(
            [
                PostgresStatement(
                    "UPDATE carillon.node SET peer = $2 WHERE identity = $1 AND start = $3",
                    [.bytes(configuration.node.identity), .text(peer), .bytes(start)])
            ], on: control)
    }

    package func drained() async throws(StoreError) {
        _ = try await Self.execute(
            [
                PostgresStatement(
                    "UPDATE carillon.node SET state = $2 WHERE identity = $1 AND start = $3",
                    [
                        .bytes(configuration.node.identity), .integer(NodeState.drained.rawValue), .bytes(start),
                    ])
            ], on: control)
    }

    package func remove(node name: String) async throws(StoreError) {
        let removal: NodeRemoval
        do throws(PostgresError) {
            let gone = try await control.execute(
                "SELECT identity FROM carillon.node WHERE name = $1 AND until < clock_timestamp()",
                [.bytes(Array(name.utf8))]
            ).first?.bytes(0)
            if let gone { try await Self.giveUp(gone, isOwn: false, on: control) }
            removal = try await control.transaction { transaction throws(PostgresError) in
                let row = try transaction.execute(
                    "SELECT identity, until > clock_timestamp() FROM carillon.node WHERE name = $1 FOR UPDATE",
                    [.bytes(Array(name.utf8))]
                ).first
                guard let identity = row?.bytes(0), let isAlive = row?.bool(1) else { return .missing }
                guard !isAlive else { return .running }
                for statement in Self.leaving(identity) { try transaction.execute(statement) }
                try transaction.execute("DELETE FROM carillon.node WHERE identity = $1", [.bytes(identity)])
                return .removed
            }
        } catch {
            throw error.storeError
        }
        switch removal {
        case .removed: return
        case .missing: throw .noNode(name)
        case .running:
            throw StoreError(
                .conflict,
                "The node \(name) runs: stop it first. One that was killed counts for \(Self.leaseSeconds) seconds.")
        }
    }

    private enum NodeRemoval: Sendable {
        case removed
        case missing
        case running
    }

    /// The column `state`.
    enum NodeState: Int64 {
        case active = 0
        case draining = 1
        case drained = 2
    }
}
