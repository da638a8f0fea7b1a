package import Delivery
import Notifications
package import Storage
import Synchronization

/// Sends held notifications when their upstream can be reached again.
///
/// They are checked again before they go on: the grant that has sent one may have been suspended or revoked since, the
/// handle deleted, and the app deleted and made by another team.
package struct HeldSender: Sendable {
    private let accounts: any Accounts
    private let held: any HeldPushes
    private let grants: any GrantStore
    private let forwarder: any Forwarding
    private let log: any DeliveryLog
    private let clock: ServiceClock
    private let refusedUpstreams = RefusedUpstreams()

    package init(
        _ accounts: any Accounts,
        _ held: any HeldPushes,
        _ grants: any GrantStore,
        _ forwarder: any Forwarding,
        log: any DeliveryLog,
        clock: ServiceClock,
    ) {
        self.accounts = accounts
        self.held = held
        self.grants = grants
        self.forwarder = forwarder
        self.log = log
        self.clock = clock
    }

    /// Looks for notifications to send until the task is cancelled.
    ///
    /// An upstream for which the last attempt is still under way is passed over. So one that hangs does not delay what is for
    /// the others.
    package func run() async {
        let busy = BusyPlaces()
        await withDiscardingTaskGroup { group in
            var skipped = 0
            // The sleep fails only if the task is cancelled, which ends the loop.
            while (try? await Task.sleep(for: HeldLimits.interval)) != nil {
                // Without upstreams there can only be some whose upstream was removed. These expire.
                skipped += 1
                guard !accounts.current.upstreams.isEmpty || skipped >= HeldLimits.intervalsWithoutUpstream else {
                    continue
                }
                skipped = 0
                let upstreams: [AppUpstream]
                do throws(StoreError) {
                    upstreams = try await upstreamsWithHeld()
                } catch {
                    // The store is in trouble, which the service reports. The next round tries again.
                    continue
                }
                for upstream in upstreams where busy.begin(upstream.place) {
                    group.addTask {
                        await sendIgnoringTrouble(to: upstream)
                        busy.end(upstream.place)
                    }
                }
            }
        }
    }

    /// The apps for which notifications are being sent.
    private final class BusyPlaces: Sendable {
        private let places = Mutex<Set<UpstreamPlace>>([])

        /// - Returns: false if notifications are being sent for it already.
        func begin(_ place: UpstreamPlace) -> Bool { places.withLock { $0.insert(place).inserted } }

        func end(_ place: UpstreamPlace) { places.withLock { _ = $0.remove(place) } }
    }

    /// Sends what can be sent now, and returns when every upstream has had its attempt.
    package func round() async throws(StoreError) {
        let upstreams = try await upstreamsWithHeld()
        await withDiscardingTaskGroup { group in
            for upstream in upstreams { group.addTask { await sendIgnoringTrouble(to: upstream) } }
        }
    }

    /// Returns the upstreams for which notifications are held, after those that have expired were removed.
    private func upstreamsWithHeld() async throws(StoreError) -> [AppUpstream] {
        try await removeExpired()
        // A node that is cut off from the accounts does not know which grants were revoked.
        guard accounts.isCurrent else { return [] }
        let places = try await held.heldPlaces(at: clock.time)
        let now = clock.moment.uptime
        // What is captured now must not reach a device by itself.
        return places.compactMap { accounts.current.upstreams[$0] }
            .filter { $0.sendsHeld && refusedUpstreams.mayTry($0, at: now) }
    }

    private func sendIgnoringTrouble(to upstream: AppUpstream) async {
        do throws(StoreError) {
            try await sendAll(to: upstream)
        } catch {
            // The store is in trouble, which the service reports. The next round tries again.
            return
        }
    }

    private func removeExpired() async throws(StoreError) {
        var removed: [HeldPush]
        repeat {
            removed = try await held.removeExpiredHeld(at: clock.time, limit: HeldLimits.batch)
            for push in removed { record(.expired, push) }
        } while removed.count == HeldLimits.batch && !Task.isCancelled
    }

    private func sendAll(to upstream: AppUpstream) async throws(StoreError) {
        // One notification shows whether the upstream can be reached.
        var (taking, sending) = (1, 1)
        while true {
            switch try await send(to: upstream, taking: taking, sending: sending) {
            case .done: return
            case .skipped: taking = HeldLimits.batch
            case .sent: (taking, sending) = (HeldLimits.batch, HeldLimits.batch)
            }
        }
    }

    private enum Progress {
        /// There is nothing more to send, or the upstream cannot be reached.
        case done
        /// Nothing of what was taken is to be sent now, and there may be more.
        case skipped
        /// The upstream has answered, and there may be more.
        case sent
    }

    /// - Parameters:
    ///   - taking: how many to look at.
    ///   - sending: how many of them to send.
    private func send(to upstream: AppUpstream, taking: Int, sending: Int) async throws(StoreError) -> Progress {
        let now = clock.time
        let batch = try await held.claimHeld(
            of: upstream.place, limit: taking, at: now, until: now.advanced(by: HeldLimits.sendTime))
        guard !batch.isEmpty else { return .done }
        let all = try await removeInvalid(from: batch, at: now)
        let due = all.prefix(sending)
        try await held.giveBackHeld(all.dropFirst(sending).map(\.number))
        guard !due.isEmpty else { return .skipped }
        let ended = await withTaskGroup(of: (HeldPush, ForwardingAnswer).self) { group in
            for push in due { group.addTask { (push, await forward(push, to: upstream)) } }
            var ended: [(push: HeldPush, answer: ForwardingAnswer)] = []
            for await end in group { ended.append(end) }
            return ended
        }
        // An attempt without an answer is not the last one.
        for (push, answer) in ended {
            for step in answer.steps(refusal: nil) { record(step, push) }
        }
        if ended.contains(where: { Self.refusesGateway($0.answer) }) {
            refusedUpstreams.refused(upstream, at: clock.moment.uptime)
        }
        // First of all: what stays in the store is sent again.
        try await held.removeHeld(ended.filter { Self.next($0.answer) == .remove }.map(\.push.number))
        try await held.giveBackHeld(ended.filter { Self.next($0.answer) == .giveBack }.map(\.push.number))
        var trouble: StoreError?
        for (push, answer) in ended {
            guard case .answered(let answer) = answer else { continue }
            do throws(StoreError) { try await remember(answer, push) } catch { trouble = error }
        }
        if let trouble { throw trouble }
        return ended.allSatisfy { Self.isReached($0.answer) } ? .sent : .done
    }

    /// Removes the notifications that must not be sent any more, and logs each.
    /// - Returns: the notifications to send. Those of suspended grants are missing: they stay for later.
    private func removeInvalid(from batch: [HeldPush], at now: Timestamp) async throws(StoreError) -> [HeldPush] {
        let accounts = accounts.current
        let sought = batch.compactMap(\.handle)
        let found = sought.isEmpty ? [] : try await grants.handles(sought)
        let valid = Set(found.compactMap { $0 }.filter { $0.end == nil }.map(\.handle))
        var due: [HeldPush] = []
        var invalid: [HeldPush] = []
        for push in batch {
            guard let id = push.grant else {
                let team = accounts.apps[push.place.bundleID].map { ForwardingShare($0.team) }
                if team?.rawValue == push.headers.share { due.append(push) } else { invalid.append(push) }
                continue
            }
            guard let grant = accounts.grants[id], grant.isValid(at: now),
                push.handle.map({ valid.contains($0) }) ?? true
            else {
                invalid.append(push)
                continue
            }
            // It stays taken, and so comes again after HeldLimits.sendTime.
            if !grant.isSuspended { due.append(push) }
        }
        try await held.removeHeld(invalid.map(\.number))
        for push in invalid { record(.discarded(.revoked), push) }
        return due
    }

    /// If the upstream no longer knows the device token, the handle is answered the same from now on.
    private func remember(_ answer: UpstreamAnswer, _ push: HeldPush) async throws(StoreError) {
        guard let handle = push.handle, let end = HandleEnd(answer, otherwise: clock.time, clock) else { return }
        try await grants.end(handle, end)
    }

    /// What becomes of a notification after an attempt.
    private enum Next {
        case remove
        /// It is the next one again.
        case giveBack
        /// It stays taken, and so comes again after ``HeldLimits/sendTime``. Meanwhile others are sent, so that one
        /// that the upstream never takes does not keep back all the others.
        case putOff
    }

    private static func next(_ answer: ForwardingAnswer) -> Next {
        switch answer {
        case .failed(_, let mayHaveBeenTaken): return mayHaveBeenTaken ? .putOff : .giveBack
        // It is about every notification, and ``RefusedUpstreams`` says when the next attempt is.
        case .answered(let answer) where answer.refusesGateway: return .giveBack
        case .answered(let answer):
            // What the upstream refuses because of its own state is still good when that has changed.
            let isFinal = answer.status == 200 || (isAboutNotification(answer) && answer.status != 429)
            return isFinal ? .remove : .putOff
        }
    }

    private static func refusesGateway(_ answer: ForwardingAnswer) -> Bool {
        guard case .answered(let answer) = answer else { return false }
        return answer.refusesGateway
    }

    /// Whether the upstream takes notifications now. A 429 is about one device token.
    private static func isReached(_ answer: ForwardingAnswer) -> Bool {
        switch answer {
        case .failed: false
        case .answered(let answer): answer.status == 200 || isAboutNotification(answer)
        }
    }

    private static func isAboutNotification(_ answer: UpstreamAnswer) -> Bool {
        RejectionSubject(reason: answer.reason, status: answer.status) == .notification
    }

    private func forward(_ push: HeldPush, to upstream: AppUpstream) async -> ForwardingAnswer {
        var push = push.push
        push.isHeld = true
        return await forwarder.forward(push, to: upstream)
    }

    private func record(_ step: DeliveryStep, _ push: HeldPush) {
        log.record(DeliveryEvent(time: clock.time, step: step, subject: push.subject))
    }
}
