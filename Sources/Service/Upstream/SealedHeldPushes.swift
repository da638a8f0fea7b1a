package import Delivery
package import Notifications
package import Storage

/// Held notifications that are encrypted before they are stored (docs/decisions/0091-held-notifications.md).
package struct SealedHeldPushes: HeldPushes {
    private let store: any HeldPushes & ClearHeldPushes
    private let seal: HeldSeal
    private let log: any DeliveryLog
    private let clock: ServiceClock

    package init(
        _ store: any HeldPushes & ClearHeldPushes,
        _ seal: HeldSeal,
        log: any DeliveryLog,
        clock: ServiceClock,
    ) {
        self.store = store
        self.seal = seal
        self.log = log
        self.clock = clock
    }

    package func hold(_ push: HeldPush) async throws(StoreError) { try await store.hold(try seal.sealed(push)) }

    /// Encrypts what release 0.2.0 has stored in clear, and overwrites what it has left in the store's files. Called at the
    /// start.
    /// - Returns: why nothing could be overwritten; nil if it was.
    package func sealClear() async throws(StoreError) -> StoreError? {
        try await moveClear()
        do throws(StoreError) {
            try await store.overwriteClearHeld()
            return nil
        } catch {
            return error
        }
    }

    private func moveClear() async throws(StoreError) {
        while true {
            let now = clock.time
            let clear = try await store.claimClearHeld(
                limit: HeldLimits.batch, at: now, until: now.advanced(by: HeldLimits.sendTime))
            guard !clear.isEmpty else { return }
            var sealed: [HeldPush] = []
            for push in clear {
                // It is free for the next round.
                sealed.append(
                    try seal.sealed(
                        HeldPush(
                            number: push.number, place: push.place, expires: push.expires,
                            taken: Timestamp(milliseconds: 0), deviceToken: push.deviceToken, payload: push.payload,
                            headers: push.headers)))
            }
            try await store.replaceClearHeld(sealed)
        }
    }

    package func heldPlaces(at moment: Timestamp) async throws(StoreError) -> [UpstreamPlace] {
        // Nodes of that release go on adding some while a cluster is upgraded.
        try await moveClear()
        return try await store.heldPlaces(at: moment)
    }

    package func claimHeld(
        of place: UpstreamPlace,
        limit: Int,
        at moment: Timestamp,
        until end: Timestamp,
    ) async throws(StoreError) -> [HeldPush] {
        let claimed = try await store.claimHeld(of: place, limit: limit, at: moment, until: end)
        let opened = claimed.map { seal.opened($0) }
        let damaged = zip(claimed, opened).filter { $1 == nil }.map(\.0)
        if !damaged.isEmpty {
            try await store.removeHeld(damaged.map(\.number))
            for push in damaged { record(push) }
        }
        return opened.compactMap { $0 }
    }

    package func giveBackHeld(_ numbers: [Int64]) async throws(StoreError) { try await store.giveBackHeld(numbers) }
    package func removeHeld(_ numbers: [Int64]) async throws(StoreError) { try await store.removeHeld(numbers) }

    /// Those that cannot be decrypted are returned without device token and payload.
    package func removeExpiredHeld(at moment: Timestamp, limit: Int) async throws(StoreError) -> [HeldPush] {
        let removed = try await store.removeExpiredHeld(at: moment, limit: limit)
        return removed.map { push in
            if let opened = seal.opened(push) { return opened }
            return HeldPush(
                number: push.number, place: push.place, expires: push.expires, taken: push.taken, deviceToken: [],
                payload: [], headers: push.headers)
        }
    }

    /// Records that a notification was dropped because it cannot be decrypted. Its device token is unknown.
    private func record(_ push: HeldPush) {
        let subject = NotificationSubject(
            id: push.subject.id, address: .deviceToken(push.handle?.bytes ?? []), topic: push.subject.topic)
        log.record(DeliveryEvent(time: clock.time, step: .discarded(.damaged), subject: subject))
    }
}
