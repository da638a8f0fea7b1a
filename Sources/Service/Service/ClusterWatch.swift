import Delivery

/// Follows the cluster's nodes in the store: what this node is asked to do, and where the others are.
struct ClusterWatch: Sendable {
    /// How often the store is asked.
    private static let interval = Duration.seconds(1)

    let cluster: any ClusterNodes
    /// Where other nodes reach this one; nil if they cannot.
    let peer: String?
    /// Sends all clients to other nodes, over this time.
    let drain: @Sendable (Duration) async -> Void
    /// Gets all nodes.
    let update: @Sendable ([ClusterNode]) -> Void

    /// Works until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            var isDraining = false
            while !Task.isCancelled {
                // If the store cannot be asked, what was known stays.
                if let nodes = try? await cluster.nodes() {
                    update(nodes)
                    let own = nodes.first { $0.id == cluster.node }
                    if let peer, own != nil, own?.peer != peer { try? await cluster.announce(peer: peer) }
                    if !isDraining, case .draining(let time) = own?.state {
                        isDraining = true
                        group.addTask {
                            await drain(time)
                            await report()
                        }
                    }
                }
                // It only ends early when the task is cancelled, and then so does the loop.
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// Says that this node was drained, again until the store has it.
    private func report() async {
        while !Task.isCancelled {
            if (try? await cluster.drained()) != nil { return }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
