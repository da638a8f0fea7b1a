package import Storage

/// The nodes of a cluster: the services that use one store.
package protocol ClusterNodes: Sendable {
    /// The node that this process is.
    var node: NodeID { get }

    /// The node's lease and its connections to the store, as they are now.
    var health: ClusterHealth { get }

    /// Returns all nodes, in the order of their names' bytes.
    func nodes() async throws(StoreError) -> [ClusterNode]

    /// Asks a node to send its providers and devices away, evenly over a time. It does so within two seconds.
    /// - Throws: ``StoreError/Code/missing``, or ``StoreError/Code/conflict`` for a node that does not run.
    func drain(node name: String, over time: Duration) async throws(StoreError)

    /// Tells other nodes where they reach this one, as `host:port`.
    func announce(peer: String) async throws(StoreError)

    /// This node has done what ``drain(node:over:)`` asked for.
    func drained() async throws(StoreError)

    /// Forgets a node that does not run.
    /// - Throws: ``StoreError/Code/missing``, or ``StoreError/Code/conflict`` for a node that runs.
    func remove(node name: String) async throws(StoreError)
}

/// Identifies a node: random bytes that its data folder keeps.
package struct NodeID: Sendable, Hashable {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
}

package struct ClusterNode: Sendable, Hashable {
    package let id: NodeID
    package let name: String
    /// Where other nodes reach it, as `host:port`; nil if they cannot.
    package let peer: String?
    package let state: State

    package enum State: Sendable, Hashable {
        case active
        /// It was asked to send its clients away over this time.
        case draining(over: Duration)
        /// It has sent its clients away and accepts no new ones.
        case drained
        /// It has not renewed its lease.
        case gone
    }

    package init(id: NodeID, name: String, peer: String?, state: State) {
        self.id = id
        self.name = name
        self.peer = peer
        self.state = state
    }
}

extension StoreError {
    package static func noNode(_ name: String) -> StoreError {
        StoreError(.missing, "There is no node \(name); carillon node list shows all of them.")
    }
}
