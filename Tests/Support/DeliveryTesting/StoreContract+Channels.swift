import Delivery
import Notifications
import Storage
import Testing

/// What a store with broadcast channels promises (``Channels``).
extension StoreContract {
    static let channelPromises: [Promise] = [
        channelPromise("a channel is there from its creation to its removal") { ports, channels in
            let channel = try ChannelSamples.channel(1)
            #expect(try await channels.channels([channel.key]) == [nil])
            try await channels.create([channel], limit: 10).first?.get()
            let second = try ChannelSamples.channel(2, policy: .newest)
            let results = await channels.create([channel, second], limit: 10)
            expectCode(.exists, of: results[0])
            try results[1].get()
            #expect(try await channels.channels([second.key, channel.key]) == [second, channel])
            #expect(try await channels.remove([channel.key, channel.key]).map { try $0.get() } == [true, false])
            #expect(try await channels.channels([channel.key]) == [nil])
        },
        channelPromise("the channels of an app are listed page by page, those of others are not") { ports, channels in
            let all = try (1...5).map { try ChannelSamples.channel($0) }
            let others = [
                try ChannelSamples.channel(6, environment: .development), try ChannelSamples.channel(7, app: 2),
            ]
            for result in await channels.create(all + others, limit: 10) { try result.get() }
            let list = all[0].key.list
            let ordered = all.sorted { $0.key.id < $1.key.id }
            let first = try await channels.channels(of: list, after: nil, limit: 3)
            #expect(first == Array(ordered.prefix(3)))
            #expect(try await channels.channels(of: list, after: first.last?.key.id, limit: 3) == ordered.suffix(2))
        },
        channelPromise("an app has no more channels than its limit, in each environment") { ports, channels in
            let results = await channels.create(try (1...3).map { try ChannelSamples.channel($0) }, limit: 2)
            try results[0].get()
            try results[1].get()
            expectCode(.conflict, of: results[2])
            let other = try ChannelSamples.channel(3, environment: .development)
            try await channels.create([other], limit: 2).first?.get()
            _ = await channels.remove([try ChannelSamples.channel(1).key])
            try await channels.create([try ChannelSamples.channel(3)], limit: 2).first?.get()
        },
        channelPromise("a channel keeps its newest broadcast, in versions that grow") { ports, channels in
            let channel = try ChannelSamples.channel(1, policy: .newest)
            try await channels.create([channel], limit: 10).first?.get()
            #expect(try await channels.stored([channel.key]) == [nil])
            let entries = (1...2).map { ChannelSamples.entry(channel.key, id: UInt64($0)) }
            let versions = try await channels.store(entries).map { try $0.get() }
            #expect(versions[0] < versions[1])
            let stored = try await channels.stored([channel.key])
            #expect(stored == [StoredBroadcast(entry: entries[1], version: versions[1])])
            let missing = try ChannelSamples.channel(2)
            expectCode(.missing, of: await channels.store([ChannelSamples.entry(missing.key)])[0])
            _ = await channels.remove([channel.key])
            #expect(try await channels.stored([channel.key]) == [nil])
        },
        channelPromise("a shared store leaves a broadcast that was stored since another was accepted") {
            ports, channels in
            let channel = try ChannelSamples.channel(1, policy: .newest)
            try await channels.create([channel], limit: 10).first?.get()
            func store(_ id: UInt64, waited: Duration?) async -> Result<BroadcastVersion, StoreError> {
                await channels.store([ChannelSamples.entry(channel.key, id: id, waited: waited)])[0]
            }
            let isShared = ports.mailboxes.isShared
            for _ in 1...2 { _ = try await store(1, waited: .seconds(3600)).get() }
            let newest = try await store(2, waited: .zero).get()
            let late = await store(1, waited: .seconds(3600))
            if isShared { #expect(late == .failure(.overtaken)) } else { _ = try late.get() }
            let stored = try await channels.stored([channel.key])
            #expect(stored.first??.entry.notification.id.high == (isShared ? 2 : 1))
            // What was accepted after the answer is never refused, and versions go on growing.
            for id in 3...50 as ClosedRange<UInt64> {
                #expect(try await store(id, waited: .zero).get() > newest)
            }
            _ = try await store(51, waited: nil).get()
            #expect(try await channels.stored([channel.key]).first??.entry.notification.id.high == 51)
        },
        channelPromise("versions grow after an expired broadcast was removed too") { ports, channels in
            let channel = try ChannelSamples.channel(1, policy: .newest)
            try await makeApp(ports)
            try await channels.create([channel], limit: 10).first?.get()
            let first = try await channels.store([ChannelSamples.entry(channel.key)])[0].get()
            #expect(try await channels.removeLeftovers(before: Samples.muchLater, limit: 10) == 0)
            let after = Samples.muchLater.advanced(by: .seconds(1))
            #expect(try await channels.removeLeftovers(before: after, limit: 10) == 1)
            #expect(try await channels.stored([channel.key]) == [nil])
            #expect(try await channels.store([ChannelSamples.entry(channel.key)])[0].get() > first)
        },
        channelPromise("an app that is registered on a device subscribes to a channel") { ports, channels in
            let channel = try ChannelSamples.channel(1)
            let subscription = ChannelSamples.subscription(to: channel)
            try await channels.create([channel], limit: 10).first?.get()
            expectEndedResult(await channels.subscribe([subscription], limit: 10, at: Samples.moment)[0])
            try await register(ports)
            #expect(!channels.maySubscribe(Samples.device))
            try await channels.subscribe([subscription], limit: 10, at: Samples.moment)[0].get()
            #expect(channels.maySubscribe(Samples.device))
            #expect(
                try await channels.subscriptions(of: Samples.device) == [SubscribedChannel(channel: channel, seen: nil)]
            )
            #expect(try await channels.subscriptions(of: Samples.twin).isEmpty)
            try await channels.unsubscribe([subscription])[0].get()
            try await channels.unsubscribe([subscription])[0].get()
            #expect(try await channels.subscriptions(of: Samples.device).isEmpty)
        },
        channelPromise("nobody subscribes to a channel that is not there, nor to too many") { ports, channels in
            try await register(ports)
            let all = try (1...3).map { try ChannelSamples.channel($0) }
            for result in await channels.create(Array(all.dropLast()), limit: 10) { try result.get() }
            let subscriptions = all.map { ChannelSamples.subscription(to: $0) }
            let results = await channels.subscribe(
                [subscriptions[2], subscriptions[0], subscriptions[0], subscriptions[1]], limit: 1, at: Samples.moment)
            expectCode(.missing, of: results[0])
            try results[1].get()
            try results[2].get()
            expectCode(.conflict, of: results[3])
        },
        channelPromise("the newest broadcast that a device has seen is remembered") { ports, channels in
            try await register(ports)
            let channel = try ChannelSamples.channel(1, policy: .newest)
            let subscription = ChannelSamples.subscription(to: channel)
            try await channels.create([channel], limit: 10).first?.get()
            try await channels.subscribe([subscription], limit: 10, at: Samples.moment)[0].get()
            let entries = (1...2).map { ChannelSamples.entry(channel.key, id: UInt64($0)) }
            let versions = try await channels.store(entries).map { try $0.get() }
            for version in versions.reversed() {
                try await channels.mark([SeenBroadcast(subscription: subscription, version: version)])[0].get()
            }
            #expect(try await channels.subscriptions(of: Samples.device).map(\.seen) == [versions[1]])
            // Subscribing again changes nothing.
            try await channels.subscribe([subscription], limit: 10, at: Samples.moment)[0].get()
            #expect(try await channels.subscriptions(of: Samples.device).map(\.seen) == [versions[1]])
            try await channels.unsubscribe([subscription])[0].get()
            try await channels.mark([SeenBroadcast(subscription: subscription, version: versions[1])])[0].get()
            #expect(try await channels.subscriptions(of: Samples.device).isEmpty)
        },
        channelPromise("subscriptions end with the registration, and with the device's tokens") { ports, channels in
            try await register(ports)
            let channel = try ChannelSamples.channel(1)
            let subscription = ChannelSamples.subscription(to: channel)
            try await channels.create([channel], limit: 10).first?.get()
            try await channels.subscribe([subscription], limit: 10, at: Samples.moment)[0].get()
            _ = try await ports.registrations.end(Samples.destination(), at: Samples.later)
            #expect(try await channels.subscriptions(of: Samples.device).isEmpty)
            expectEndedResult(await channels.subscribe([subscription], limit: 10, at: Samples.later)[0])
            try await register(ports)
            #expect(try await channels.subscriptions(of: Samples.device).isEmpty)
            try await channels.subscribe([subscription], limit: 10, at: Samples.moment)[0].get()
            try await ports.registrations.renewTokens(of: Samples.device, tokenKeyID: 1, at: Samples.later)
            #expect(try await channels.subscriptions(of: Samples.device).isEmpty)
        },
        channelPromise("a removed channel and a deleted app leave nothing behind") { ports, channels in
            try await makeApp(ports)
            try await register(ports)
            let all = [try ChannelSamples.channel(1), try ChannelSamples.channel(2)]
            for result in await channels.create(all, limit: 10) { try result.get() }
            for result in await channels.subscribe(
                all.map { ChannelSamples.subscription(to: $0) }, limit: 10, at: Samples.moment)
            {
                try result.get()
            }
            _ = await channels.remove([all[0].key])
            #expect(try await channels.subscriptions(of: Samples.device).map(\.channel) == [all[1]])
            #expect(try await channels.removeLeftovers(before: Samples.moment, limit: 10) == 1)
            #expect(try await channels.removeLeftovers(before: Samples.moment, limit: 10) == 0)
            _ = try await ports.accounts.apply(
                .deleteApp(try Samples.bundleID("com.example.app"), at: Samples.moment), to: nil)
            #expect(try await channels.removeLeftovers(before: Samples.moment, limit: 1) == 1)
            #expect(try await channels.removeLeftovers(before: Samples.moment, limit: 10) == 1)
            #expect(try await channels.channels([all[1].key]) == [nil])
            #expect(try await channels.subscriptions(of: Samples.device).isEmpty)
        },
    ]

    private static func channelPromise(
        _ name: String,
        _ check: @escaping @Sendable (Ports, any Channels) async throws -> Void,
    ) -> Promise {
        Promise(name) { ports in try await check(ports, ports.channels) }
    }

    /// The first app of the accounts, which has the number 1.
    private static func makeApp(_ ports: Ports) async throws {
        let team = try Samples.team()
        _ = try await ports.accounts.apply(.createTeam(team), to: nil)
        let bundleID = try Samples.bundleID("com.example.app")
        let snapshot = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id), to: nil)
        #expect(snapshot.apps[bundleID]?.id == AppID(rawValue: 1))
    }

    private static func register(_ ports: Ports) async throws {
        _ = try await ports.registrations.register(Samples.destination(), tokenKeyID: 1, at: Samples.moment)
    }
}

/// Channels to check with.
enum ChannelSamples {
    static func channel(
        _ number: Int,
        policy: MessageStoragePolicy = .none,
        app: UInt32 = 1,
        environment: Environment = .production,
    ) throws -> BroadcastChannel {
        let letter = String(Array("zYxWvUt")[number % 7])
        let id = try #require(ChannelID(rawValue: String(repeating: letter, count: 20) + "AA=="))
        let list = ChannelList(environment: environment, app: AppID(rawValue: app))
        return BroadcastChannel(key: ChannelKey(list: list, id: id), policy: policy, created: Samples.moment)
    }

    static func subscription(to channel: BroadcastChannel) -> Subscription {
        Subscription(device: Samples.device, app: channel.key.list.app, channel: channel.key.id)
    }

    static func entry(_ channel: ChannelKey, id: UInt64 = 1, waited: Duration? = nil) -> BroadcastEntry {
        BroadcastEntry(
            channel: channel,
            notification: Notification(
                id: NotificationID(high: id, low: ~id), topic: "com.example.app.push-type.liveactivity",
                pushType: .liveActivity, priority: .considerate, expiration: .at(1_700_003_600),
                payload: Payload(stored: Array(#"{"aps":{"event":"update"}}"#.utf8), contents: [.aps])),
            expires: Samples.muchLater, waited: waited)
    }
}

private func expectCode<Value>(
    _ code: StoreError.Code,
    of result: Result<Value, StoreError>,
    sourceLocation: SourceLocation = #_sourceLocation,
) {
    #expect(throws: StoreError.self, sourceLocation: sourceLocation) { _ = try result.get() }
    if case .failure(let error) = result { #expect(error.code == code, sourceLocation: sourceLocation) }
}

private func expectEndedResult<Value>(
    _ result: Result<Value, StoreError>,
    sourceLocation: SourceLocation = #_sourceLocation,
) {
    guard case .failure(let error) = result, case .ended = error.code else {
        Issue.record("The registration should have ended: \(result)", sourceLocation: sourceLocation)
        return
    }
}
