import Notifications
import Storage
import Synchronization

// Broadcasts in a cluster. The node that accepts a broadcast sends it to every other node that it can reach, once to
// each. If the channel keeps it, a node that was not reached finds it in the store. The store also says which channels
// other nodes have removed (decision 0040).
extension Broadcasts {
    /// Uses a direct way to other nodes.
    package func use(_ routes: any PeerRoutes) { self.routes.withLock { $0 = routes } }

    /// Takes a broadcast that another node has accepted. A task delivers it, because many devices would block the
    /// event loop that calls this.
    package func received(_ broadcast: PeerBroadcast) {
        guard case .enqueued = arrival.yield(broadcast) else { return limitExceeded(.nodeBroadcasts) }
        guard let version = broadcast.version else { return }
        sentByOthers.withLock { sent in
            sent[broadcast.channel] = max(version, sent[broadcast.channel] ?? version)
        }
    }

    func deliver(_ broadcast: PeerBroadcast) {
        guard
            let message = message(broadcast.notification, to: broadcast.channel, version: broadcast.version)
        else { return }
        deliver(message)
    }

    /// Asks the store what other nodes have changed, again and again until the task is cancelled.
    func follow(_ news: any ChannelNews) async {
        var position = news.position
        while !Task.isCancelled {
            do {
                while try await follow(news, from: &position) {}
            } catch {
                // The next question begins at the same position, so nothing is missed.
            }
            // The sleep fails only if the task is cancelled, which ends the loop.
            try? await Task.sleep(for: limits.newsInterval)
        }
    }

    /// - Returns: whether there is more.
    private func follow(
        _ news: any ChannelNews,
        from position: inout BroadcastVersion,
    ) async throws(StoreError) -> Bool {
        let changes = try await news.changes(after: position, limit: limits.newsBatch)
        // Before the first channel, devices were not asked for. And if the store has lost changes, what this node
        // knows may be wrong.
        let isFirst = position.rawValue == 0 && changes.position.rawValue > 0
        if isFirst || !changes.isComplete { reloadAll() }
        for change in changes.changes {
            switch change {
            case .removed(let channel): drop(channel)
            case .stored(let stored): found(stored)
            }
        }
        position = changes.position
        if !changes.hasMore {
            let known = position
            sentByOthers.withLock { $0 = $0.filter { known < $0.value } }
        }
        return changes.hasMore
    }

    /// Sends a broadcast that another node has stored, unless that node has sent it here directly.
    private func found(_ stored: StoredBroadcast) {
        let channel = stored.entry.channel
        let isKnown = sentByOthers.withLock { sent in sent[channel].map { stored.version <= $0 } ?? false }
        guard !isKnown, stored.entry.expires > clock.time,
            let message = message(stored.entry.notification, to: channel, version: stored.version)
        else { return }
        deliver(message, isStored: true)
    }
}
