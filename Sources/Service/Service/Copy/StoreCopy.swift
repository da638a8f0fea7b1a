import Crypto
import Delivery
import Foundation
import Notifications
import Storage
import Trust
import Upstream

/// Copies a store into another one. Device tokens, certificates and mailboxes stay valid.
package struct StoreCopy: Sendable {
    /// How many things of each kind were copied.
    package struct Counts: Encodable, Sendable, Hashable {
        package var teams = 0
        package var apps = 0
        package var keys = 0
        package var certificates = 0
        package var revokedDevices = 0
        package var administrators = 0
        package var upstreams = 0
        package var grants = 0
        package var handles = 0
        package var invitations = 0
        package var secrets = 0
        package var registrations = 0
        package var notifications = 0
        package var held = 0
        package var feedback = 0
        package var channels = 0
        package var broadcasts = 0
        package var subscriptions = 0
    }

    /// How many registrations are read and written at once. With payloads of 4 KB each, this takes 800 KB.
    private static let page = 200

    private let source: any CopyableStore
    private let target: any CopyableStore
    private let progress: @Sendable (_ title: String, _ done: Int, _ count: Int) -> Void
    private let lists: [FeedbackList]
    private let channelLists: [ChannelList]
    private var counts = Counts()

    /// Copies one store into another. No service may use either store. The target must be empty or an unfinished copy
    /// of the same source.
    ///
    /// If copying fails, the target stays marked as an unfinished copy. No service starts with it, and the next copy
    /// starts from the beginning.
    package static func run(
        from source: CopyPlace,
        to target: CopyPlace,
        storeKeyFile: String?,
        progress: @escaping @Sendable (_ title: String, _ done: Int, _ count: Int) -> Void,
    ) async throws(ServiceError) -> Counts {
        try await source.with(storeKeyFile, isTarget: false) { source throws(ServiceError) in
            try await target.with(storeKeyFile, isTarget: true) { opened throws(ServiceError) in
                do throws(StoreError) {
                    var copy = StoreCopy(source, opened, progress)
                    return try await copy.run()
                } catch {
                    throw ServiceError(.store, "The store was not copied to \(target). \(error.cause)")
                }
            }
        }
    }

    private init(
        _ source: any CopyableStore,
        _ target: any CopyableStore,
        _ progress: @escaping @Sendable (_ title: String, _ done: Int, _ count: Int) -> Void,
    ) {
        self.source = source
        self.target = target
        self.progress = progress
        let apps = source.current.apps.values.map(\.id)
        lists = Environment.allCases.flatMap { environment in
            apps.map { FeedbackList(environment: environment, app: $0) }
        }
        channelLists = lists.map { ChannelList(environment: $0.environment, app: $0.app) }
    }

    private mutating func run() async throws(StoreError) -> Counts {
        try await target.beginCopy(of: identity())
        try await copyAccounts()
        try await copySecrets()
        try await copyDestinations()
        try await copySubscriptions()
        try await copyKept()
        try await copyClearHeld()
        try await copyHeld()
        try await copyFeedback()
        try await copyGrants()
        try await copyChannels()
        if let mark = try await source.attemptMark() { try await target.keep(mark) }
        try await target.endCopy()
        return counts
    }

    /// Returns a number that identifies the source, made from its authority. The authority is made at the first start
    /// and never changes.
    private func identity() async throws(StoreError) -> Int64 {
        guard try await !source.isUnfinishedCopy(), let authority = try await source.secrets.secret(.authority) else {
            throw StoreError(.missing, "The source holds no service's data: no service was started with it.")
        }
        return SHA256.hash(data: authority).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    private mutating func copyAccounts() async throws(StoreError) {
        let accounts = try await source.copiedAccounts()
        try await target.fill(accounts)
        counts.teams = accounts.snapshot.teams.count
        counts.apps = accounts.snapshot.apps.count
        counts.keys = accounts.snapshot.keys.count
        counts.certificates = accounts.snapshot.certificates.count
        counts.revokedDevices = accounts.snapshot.revokedDevices.count
        counts.administrators = accounts.snapshot.administrators.count
        counts.upstreams = accounts.snapshot.upstreams.count
        counts.grants = accounts.snapshot.grants.count
        var rest = try await source.copiedInvitations()[...]
        while !rest.isEmpty {
            let page = Array(rest.prefix(Self.page))
            try await target.fill(page)
            rest = rest.dropFirst(page.count)
            counts.invitations += page.count
        }
        var last: [UInt8]?
        while true {
            let page = try await source.copiedUsedInvitations(after: last, limit: Self.page)
            if !page.isEmpty { try await target.fill(page) }
            guard page.count == Self.page, let digest = page.last?.invitation.digest else { break }
            last = digest
        }
    }

    private mutating func copyHeld() async throws(StoreError) {
        var last: Int64 = 0
        while true {
            let page = try await source.copiedHeld(after: last, limit: Self.page)
            guard let end = page.last else { return }
            for push in page { try await target.hold(push) }
            counts.held += page.count
            last = end.number
        }
    }

    /// Copies what release 0.2.0 holds in clear, and encrypts it with the source's key, which the target has by now.
    private mutating func copyClearHeld() async throws(StoreError) {
        guard let key = try await source.secrets.secret(.credentialKey), let seal = CredentialSeal(key: key) else {
            // Without this key nothing was forwarded, so nothing is held.
            return
        }
        var last: Int64 = 0
        while true {
            let page = try await source.copiedClearHeld(after: last, limit: Self.page)
            guard let end = page.last else { return }
            for push in page { try await target.hold(try HeldSeal(seal).sealed(push)) }
            counts.held += page.count
            last = end.number
        }
    }

    private mutating func copySecrets() async throws(StoreError) {
        for name in source.secretNames {
            guard let value = try await source.secrets.secret(name) else { continue }
            guard try await target.secrets.keep(value, as: name) == value else { throw .notEmpty }
            counts.secrets += 1
        }
    }

    /// Copies registrations and mailboxes. Skips those of deleted apps, which are about to be removed.
    private mutating func copyDestinations() async throws(StoreError) {
        let (accounts, count) = (source.current, try await source.countDestinations())
        var (last, done): (Destination?, Int) = (nil, 0)
        while true {
            let page = try await source.copiedDestinations(after: last, limit: Self.page)
            let present = page.filter { accounts.app($0.destination.app) != nil }
            if !present.isEmpty { try await target.fill(present) }
            counts.registrations += present.count
            counts.notifications += present.count { $0.mailbox != nil }
            done += page.count
            progress("Registrations", done, count)
            guard page.count == Self.page, let destination = page.last?.destination else { return }
            last = destination
        }
    }

    /// Copies the subscriptions of Web Push. The secrets from which their endpoints are made are copied with the others.
    private mutating func copySubscriptions() async throws(StoreError) {
        let accounts = source.current
        var last: WebPushSubscription?
        while true {
            let page = try await source.copiedSubscriptions(after: last, limit: Self.page)
            let present = page.filter { accounts.app($0.destination.app) != nil }
            if !present.isEmpty { try await target.fill(present) }
            guard page.count == Self.page, let subscription = page.last else { return }
            last = subscription
        }
    }

    /// Copies what mailboxes hold that keep more than one notification.
    private mutating func copyKept() async throws(StoreError) {
        let accounts = source.current
        var last: MailboxReference?
        while true {
            let page = try await source.copiedKept(after: last, limit: Self.page)
            let present = page.filter { accounts.app($0.entry.destination.app) != nil }
            if !present.isEmpty { try await target.fill(kept: present) }
            counts.notifications += present.count
            guard page.count == Self.page, let stored = page.last else { return }
            last = MailboxReference(destination: stored.entry.destination, version: stored.version)
        }
    }

    private mutating func copyFeedback() async throws(StoreError) {
        for list in lists {
            var last: FeedbackMark?
            while true {
                let page = try await source.copiedFeedback(list, after: last, limit: Self.page)
                if !page.isEmpty { try await target.fill(page) }
                counts.feedback += page.count
                guard page.count == Self.page, let mark = page.last?.mark else { break }
                last = mark
            }
        }
    }

    /// Copies what the store has of grants beside the accounts.
    private mutating func copyGrants() async throws(StoreError) {
        let (grants, own) = (source.grantStore, target.grantStore)
        var last: Handle?
        while true {
            let page = try await grants.handles(after: last, limit: Self.page)
            if !page.isEmpty { try await own.put(page, limit: .max) }
            counts.handles += page.count
            guard page.count == Self.page, let handle = page.last?.handle else { break }
            last = handle
        }
        let answers = try await grants.answers()
        for day in try await grants.days() {
            let sent = try await grants.sent(on: day)
            let counts = sent.map { GrantCount(grant: $0, sent: $1, answers: [:]) }
            _ = try await own.add(counts, on: day)
        }
        let newest = try await grants.days().last ?? 0
        _ = try await own.add(answers.map { GrantCount(grant: $0, sent: 0, answers: $1) }, on: newest)
        let moment = Timestamp(milliseconds: 0)
        for invitation in try await grants.grantInvitations(at: moment) { try await own.invite(invitation, at: moment) }
        try await copyUsedCodes(from: grants, to: own)
        try await copyPhones()
    }

    /// Copies the endpoints of handles, and the bodies that wait for phones. The handles are there already.
    private func copyPhones() async throws(StoreError) {
        var last: [UInt8]?
        repeat {
            let page = try await source.handleEndpoints.endpoints(after: last, limit: Self.page)
            if !page.isEmpty { try await target.handleEndpoints.fill(page) }
            last = page.count == Self.page ? page.last?.digest : nil
        } while last != nil
        repeat {
            let page = try await source.webPushBodies.bodies(after: last, limit: Self.page)
            if !page.isEmpty { try await target.webPushBodies.fill(page) }
            last = page.count == Self.page ? page.last?.digest : nil
        } while last != nil
    }

    /// Copies what counts once and was used, so that it does not count again.
    private func copyUsedCodes(from grants: any GrantStore, to own: any GrantStore) async throws(StoreError) {
        var digest: [UInt8]?
        while true {
            let page = try await grants.usedGrantInvitations(after: digest, limit: Self.page)
            if !page.isEmpty { try await own.fill(page) }
            guard page.count == Self.page, let last = page.last else { break }
            digest = last.invitation.digest
        }
        var code: UsedCode?
        while true {
            let page = try await grants.usedCodes(after: code, limit: Self.page)
            if !page.isEmpty { try await own.fill(page) }
            guard page.count == Self.page, let last = page.last else { return }
            code = last
        }
    }

    // MARK: Channels

    private mutating func copyChannels() async throws(StoreError) {
        let channels = source.broadcastChannels
        // The version of each channel's newest broadcast in the source and in the target.
        var versions: [ChannelKey: (there: BroadcastVersion, here: BroadcastVersion)] = [:]
        for list in channelLists {
            var last: ChannelID?
            while true {
                let page = try await channels.channels(of: list, after: last, limit: Self.page)
                if !page.isEmpty { try await copy(page, from: channels, &versions) }
                guard page.count == Self.page, let id = page.last?.key.id else { break }
                last = id
            }
        }
        if counts.channels > 0 { try await copySubscriptions(from: channels, versions) }
    }

    private mutating func copy(
        _ page: [BroadcastChannel],
        from channels: any Channels,
        _ versions: inout [ChannelKey: (there: BroadcastVersion, here: BroadcastVersion)],
    ) async throws(StoreError) {
        let own = target.broadcastChannels
        for result in await own.create(page, limit: .max) { try result.get() }
        counts.channels += page.count
        let stored = try await channels.stored(page.map(\.key)).compactMap(\.self)
        for (broadcast, result) in zip(stored, await own.store(stored.map(\.entry))) {
            versions[broadcast.entry.channel] = (broadcast.version, try result.get())
            counts.broadcasts += 1
        }
    }

    private mutating func copySubscriptions(
        from channels: any Channels,
        _ versions: [ChannelKey: (there: BroadcastVersion, here: BroadcastVersion)],
    ) async throws(StoreError) {
        let own = target.broadcastChannels
        for environment in Environment.allCases {
            var last: DeviceID?
            while true {
                let page = try await source.devices(in: environment, after: last, limit: Self.page)
                for device in page where channels.maySubscribe(device.key) {
                    // Those of an app that was deleted a moment ago are still there.
                    let subscribed = try await channels.subscriptions(of: device.key)
                        .filter { source.current.app($0.channel.key.list.app) != nil }
                    let subscriptions = subscribed.map {
                        Subscription(device: device.key, app: $0.channel.key.list.app, channel: $0.channel.key.id)
                    }
                    let moment = Timestamp(milliseconds: 0)
                    for result in await own.subscribe(subscriptions, limit: .max, at: moment) { try result.get() }
                    counts.subscriptions += subscriptions.count
                    let seen = zip(subscribed, subscriptions).compactMap { subscribed, subscription in
                        versions[subscription.key].flatMap { version in
                            subscribed.seen.map { $0 >= version.there } == true
                                ? SeenBroadcast(subscription: subscription, version: version.here) : nil
                        }
                    }
                    for result in await own.mark(seen) { try result.get() }
                }
                guard page.count == Self.page, let key = page.last?.key else { break }
                last = key.device
            }
        }
    }
}
