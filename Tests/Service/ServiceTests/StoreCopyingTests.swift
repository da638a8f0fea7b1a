#if PostgreSQL
    import AccountTables
    import CommonTesting
    import Delivery
    import Foundation
    import Notifications
    import PostgresTesting
    import SQLSupport
    import Storage
    import Testing
    import Trust
    import Upstream

    @testable import Service

    /// Copies of stores with something of each kind, there and back.
    @Suite(.startsPrograms, .timeLimit(.minutes(2)))
    struct StoreCopyingTests {
        private let device = DeviceKey(environment: .production, device: DeviceID(rawValue: .max - 1))
        private let app = AppID(rawValue: 2)
        private let moment = Timestamp(milliseconds: 1_700_000_000_000)

        private func later(_ seconds: Int64) -> Timestamp { moment.advanced(by: .seconds(seconds)) }

        private struct Places {
            let first: CopyPlace
            let database: CopyPlace
            let last: CopyPlace
            let keyFile: String

            /// Opens a store. Errors of the body become errors of the service.
            func with<Value: Sendable>(
                _ place: CopyPlace,
                isTarget: Bool = false,
                _ body: (any CopyableStore) async throws -> Value,
            ) async throws -> Value {
                try await place.with(keyFile, isTarget: isTarget) { store throws(ServiceError) in
                    do {
                        return try await body(store)
                    } catch {
                        throw ServiceError(.store, "\(error)")
                    }
                }
            }

            func copy(_ source: CopyPlace, to target: CopyPlace) async throws -> StoreCopy.Counts {
                try await StoreCopy.run(from: source, to: target, storeKeyFile: keyFile) { _, _, _ in }
            }
        }

        private func withPlaces(_ body: (Places) async throws -> Void) async throws {
            let url = try await TestServer.makeURL()
            try await withTemporaryPath { path in
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                let keyFile = path + "/store.key"
                try String(repeating: "5a", count: 32).write(toFile: keyFile, atomically: true, encoding: .utf8)
                try await body(
                    Places(
                        first: try CopyPlace("sqlite:\(path)/first"), database: try CopyPlace(url),
                        last: try CopyPlace("sqlite:\(path)/last"), keyFile: keyFile))
            }
        }

        private func destination(_ number: UInt64, of app: AppID? = nil) -> Destination {
            Destination(
                environment: device.environment, device: DeviceID(rawValue: device.device.rawValue &+ number),
                app: app ?? self.app)
        }

        private func entry(_ destination: Destination, _ number: UInt64) throws -> MailboxEntry {
            MailboxEntry(
                destination: destination,
                notification: Notification(
                    id: NotificationID(high: 1, low: number), topic: "com.example.\u{0}app",
                    pushType: number == 0 ? .background : .liveActivity,
                    priority: .considerate, expiration: Expiration(seconds: number == 0 ? .max : 9_000_000_001),
                    collapseID: CollapseIdentifier(rawValue: "collapse"),
                    activity: number == 0 ? nil : .one(ActivityID(high: 5, low: number)),
                    payload: Payload(stored: Array(#"{"aps":{"badge":1}}"#.utf8), contents: [.aps, .badge])),
                expires: Timestamp(milliseconds: number == 0 ? .max : 9_000_000_000_000))
        }

        private func bundleID(_ text: String) throws -> BundleID { try #require(BundleID(rawValue: text)) }

        /// Something of each kind, more than one page of registrations, and a deleted app. No two columns of a row have the
        /// same value, if they may differ: a copy that swaps them has another content.
        private func fill(_ store: any CopyableStore) async throws {
            _ = try await store.secrets.keep([1, 2, 3], as: .authority)
            _ = try await store.secrets.keep([4], as: try #require(SecretName(rawValue: "token-key-1")))
            let team = Team(id: try #require(TeamID(rawValue: "ABCDE12345")), name: "Té\u{0}am")
            let (gone, kept) = (try bundleID("com.example.gone"), try bundleID("com.example.app"))
            let key = TeamKey(
                id: try #require(KeyID(rawValue: "KEY1234567")), team: team.id, publicKey: [5, 6],
                environments: [.production], bundleIDs: [kept])
            let certificate = TeamCertificate(
                serial: try #require(CertificateSerial(bytes: Array(repeating: 0x49, count: 16))), team: team.id,
                bundleID: kept, environments: [.development], validUntil: moment)
            let revoked = DeviceKey(environment: .development, device: DeviceID(rawValue: 9))
            let administrator = AdministratorCertificate(
                serial: try #require(CertificateSerial(bytes: Array(repeating: 0x4a, count: 16))), made: later(1),
                validUntil: Timestamp(milliseconds: .max))
            let place = UpstreamPlace(bundleID: kept, environment: .production)
            let changes: [AccountChange] = [
                .createTeam(team), .createApp(bundleID: gone, team: team.id), .createApp(bundleID: kept, team: team.id),
                .createKey(key),
                .setUpstream(
                    AppUpstream(place: place, url: "https://h", credentials: .certificate, sealedCredentials: [3])),
                .setWebPush(AppWebPush(place: place, template: .tootRelay, relaysTo: true, isPlain: false)),
                .createCertificate(certificate), .revokeDevice(revoked, at: moment),
                .createAdministrator(administrator, at: later(1)),
                .revokeAdministrator(administrator.serial, at: later(4)),
                .revokeUnlistedAdministrator(
                    try #require(CertificateSerial(bytes: Array(repeating: 0x4b, count: 16))), validUntil: later(6),
                    at: later(5)),
                .createApp(bundleID: try bundleID("c.d"), team: team.id), .setBroadcasts(kept, false),
                .createApp(bundleID: try bundleID("com.example.till"), team: team.id),
                .setKeep(try bundleID("com.example.till"), 300),
            ]
            for change in changes { _ = try await store.apply(change) }
            try await store.invite(
                Invitation(digest: [1, 2], environment: .production, expires: Timestamp(milliseconds: .max)), at: moment
            )
            try await store.invite(
                Invitation(digest: [3], environment: .development, expires: Timestamp(milliseconds: .max)), at: moment)
            let activation = Activation(key: [4], device: DeviceID(rawValue: .max), chain: "chain")
            #expect(
                try await store.useInvitation([3], to: .development, for: activation, at: moment) == activation)
            for number in [1, 2] as [UInt8] {
                var push = ForwardedPush(
                    deviceToken: [number], topic: nil, id: "\(number)", payload: [7], share: ForwardingShare(team.id),
                    via: "1.1 first")
                if number == 2 {
                    (push.topic, push.expiration, push.priority) = ("c.d.e", "17", "5")
                    (push.collapseID, push.pushType) = ("collapse", "background")
                }
                try await store.hold(HeldPush(push, of: place, expires: later(Int64(number))))
            }
            for number in 0..<450 {
                _ = try await store.register(destination(UInt64(number)), tokenKeyID: 7, at: moment)
            }
            _ = try await store.register(destination(0, of: AppID(rawValue: 1)), tokenKeyID: 7, at: moment)
            for number in [8, 9] as [UInt64] {
                try await store.renewTokens(of: destination(number).deviceKey, tokenKeyID: 9, at: later(1))
                _ = try await store.register(destination(number), tokenKeyID: 9, at: later(2))
            }
            try await subscribe(destination(0, of: AppID(rawValue: 1)), in: store.broadcastChannels)
            _ = try await store.apply(.deleteApp(gone, at: moment))
            _ = try await store.apply(.deleteApp(try bundleID("c.d"), at: moment))
            for number in [0, 300] as [UInt64] {
                for result in await store.store([try entry(destination(number), number)]) { _ = try result.get() }
            }
            // More than a page of what an app keeps.
            let till = destination(5, of: AppID(rawValue: 4))
            _ = try await store.register(till, tokenKeyID: 7, at: moment)
            let many = try (0..<250 as Range<UInt64>).map { number in
                var entry = try entry(till, number)
                entry.notification.fields.collapseID = CollapseIdentifier(rawValue: "\(number)")
                return entry
            }
            for result in await store.store(many) { _ = try result.get() }
            // The first entry of the list is of the second generation, and the other way round.
            for (number, generation) in [(8, 2), (7, 1)] as [(UInt8, UInt32)] {
                let ended = destination(UInt64(number))
                _ = try await store.end(ended, at: later(3))
                let token = try #require(DeviceToken(Array(repeating: number, count: 32)))
                try await store.record([
                    FeedbackEntry(destination: ended, generation: generation, token: token, moment: later(3))
                ])
            }
            try await store.keep(try #require(AttemptMark(bound: 12345, time: moment)))
            try await fillChannels(store.broadcastChannels)
            try await fillGrants(store, team.id, kept)
        }

        /// A grant with more than a page of handles, one of which has ended, and an invitation.
        private func fillGrants(_ store: any CopyableStore, _ team: TeamID, _ bundleID: BundleID) async throws {
            var limits = GrantLimits()
            (limits.rate, limits.burst, limits.daily, limits.payloadBytes) = (11, 12, 13, 14)
            let grant = Grant(
                id: try #require(GrantID(rawValue: "g_aaaabbbbccccdddd")), bundleID: bundleID, team: team,
                name: "Gr\u{0}ant", key: try #require(KeyID(rawValue: "GRANTKEY01")), publicKey: [9, 9],
                clientKey: "ck_1", limits: limits, made: later(1))
            _ = try await store.apply(.createGrant(grant))
            let key = GrantProviderKey(
                id: try #require(KeyID(rawValue: "GRANTKEY02")), publicKey: [8, 9], made: later(2))
            _ = try await store.apply(.addGrantKey(grant.id, key))
            _ = try await store.apply(.addGrantClientKey(grant.id, GrantClientKeyEntry(text: "ck_2", made: later(3))))
            let handles = try (0..<250 as Range<UInt8>).map { number in
                StoredHandle(
                    handle: try #require(Handle([number] + Array(repeating: 1, count: 31))), grant: grant.id, app: app,
                    environment: .production, token: [number, 2], registered: later(Int64(number)))
            }
            try await store.grantStore.put(handles, limit: 1000)
            try await store.grantStore.end(
                handles[3].handle,
                HandleEnd(reason: .unregistered, moment: Timestamp(milliseconds: .max), noted: later(4)))
            try await fillPhones(store, handles)
            let count = GrantCount(grant: grant.id, sent: 5, answers: ["200": 4, "Unregistered": 1])
            _ = try await store.grantStore.add([count], on: 20_000)
            try await store.grantStore.invite(
                GrantInvitation(
                    digest: [3, 4], bundleID: bundleID, name: "In\u{0}vited", limits: limits,
                    expires: Timestamp(milliseconds: .max)), at: moment)
            try await fillUsedCodes(store, grant)
        }

        /// More than a page of endpoints, and of bodies that wait for phones.
        private func fillPhones(_ store: any CopyableStore, _ handles: [StoredHandle]) async throws {
            for (number, stored) in handles.enumerated() where number != 3 {
                let endpoint = HandleEndpoint(
                    handle: stored.handle, name: "a\u{0}\(number)", seed: [1], digest: [UInt8(number)],
                    vapid: number == 5 ? [4, 5] : nil)
                try await store.grantStore.put([stored], limit: 1000, code: nil, endpoint: endpoint)
            }
            for number in 0..<210 as Range<UInt8> {
                let body = KeptBody(
                    digest: [number], owner: [number / 90], body: [number, 7], expires: Timestamp(milliseconds: .max))
                try await store.webPushBodies.keep(body, at: moment)
            }
            try await store.webPushBodies.fetched([7], at: moment)
        }

        /// A used invitation, and more than a page of used codes.
        private func fillUsedCodes(_ store: any CopyableStore, _ grant: Grant) async throws {
            let end = Timestamp(milliseconds: .max)
            try await store.grantStore.invite(
                GrantInvitation(
                    digest: [3, 5], bundleID: grant.bundleID, name: "U\u{0}sed", limits: grant.limits, expires: end),
                at: moment)
            let used = try await store.grantStore.useGrantInvitation([3, 5], for: [6], grant: grant.id, at: moment)
            #expect(used?.isNew == true)
            for number in 0..<250 as Range<UInt8> {
                try await store.grantStore.put(
                    [], limit: 1, code: UsedCode(grant: grant.id, digest: [number], expires: end, now: moment))
            }
        }

        private func grants(_ store: any CopyableStore) async throws -> [String] {
            let grants = store.grantStore
            var lines = store.current.grants.values.map { "\($0)" }.sorted()
            lines += try await grants.handles(after: nil, limit: 1000).map { "\($0)" }
            lines += try await grants.grantInvitations(at: moment).map { "\($0)" }
            lines += try await grants.usedGrantInvitations(after: nil, limit: 10).map { "\($0)" }
            lines += try await grants.usedCodes(after: nil, limit: 1000).map { "\($0)" }
            lines += try await store.handleEndpoints.endpoints(after: nil, limit: 1000).map { "\($0)" }
            lines += try await store.webPushBodies.bodies(after: nil, limit: 1000).map { "\($0)" }
            let answers = try await grants.answers().map { "\($0.key) \($0.value.sorted { $0.key < $1.key })" }
            return try await lines + answers.sorted() + ["\(grants.sent(on: 20_000)) \(grants.handleCounts())"]
        }

        /// Everything that the ports show, in an order that does not depend on the store.
        private func contents(_ store: any CopyableStore) async throws -> [String] {
            var lines: [String] = []
            let accounts = try await store.copiedAccounts()
            lines.append("\(accounts.lastApp) \(accounts.snapshot.version)")
            lines += accounts.snapshot.teams.values.map { "\($0)" }.sorted()
            lines += accounts.snapshot.apps.values.map { "\($0)" }.sorted()
            lines += accounts.snapshot.keys.values.map { "\($0)" }.sorted()
            lines += accounts.snapshot.certificates.values.map { "\($0)" }.sorted()
            lines += accounts.snapshot.revokedDevices.map { "\($0)" }.sorted()
            lines += accounts.snapshot.administrators.values.map { "\($0)" }.sorted()
            lines += accounts.snapshot.upstreams.values.map { "\($0)" }.sorted()
            lines += try await store.copiedHeld(after: 0, limit: 10).map { "\($0.place) \($0.expires) \($0.push)" }
            lines += try await store.copiedInvitations().map { "\($0)" }.sorted()
            lines += try await store.copiedUsedInvitations(after: nil, limit: 10).map { "\($0)" }
            for name in store.secretNames.sorted(by: { $0.rawValue < $1.rawValue }) {
                lines.append("\(name) \(try await store.secrets.secret(name) ?? [])")
            }
            let all = try await store.copiedDestinations(after: nil, limit: 1000)
            lines += all.filter { accounts.snapshot.app($0.destination.app) != nil }.map { copied in
                "\(copied.destination) \(copied.registration) \(copied.mailbox.map { "\($0.entry.expires) \($0.entry.notification.fields) \($0.version)" } ?? "")"
            }.sorted()
            lines += try await store.copiedKept(after: nil, limit: 1000).map { stored in
                "\(stored.entry.destination) \(stored.entry.expires) \(stored.entry.notification.fields) \(stored.version)"
            }
            let list = FeedbackList(environment: device.environment, app: app)
            lines += try await store.copiedFeedback(list, after: nil, limit: 10).map { "\($0.entry)" }
            lines.append("\(String(describing: try await store.attemptMark()))")
            return try await lines + channels(store.broadcastChannels) + grants(store)
        }

        /// Subscribes a device to a new channel of an app.
        private func subscribe(_ destination: Destination, in channels: any Channels) async throws {
            let list = ChannelList(environment: destination.environment, app: destination.app)
            let key = ChannelKey(list: list, id: try #require(ChannelID(rawValue: "DDDD")))
            let channel = BroadcastChannel(key: key, policy: .newest, created: later(1))
            for result in await channels.create([channel], limit: 1) { try result.get() }
            let subscription = Subscription(device: destination.deviceKey, app: destination.app, channel: key.id)
            for result in await channels.subscribe([subscription], limit: 1, at: later(2)) { try result.get() }
        }

        /// Channels of both policies. One keeps a broadcast that one of two devices has seen.
        private func fillChannels(_ channels: any Channels) async throws {
            let list = ChannelList(environment: device.environment, app: app)
            let all = try ["AAAA", "BBBB", "CCCC"].map { id in
                BroadcastChannel(
                    key: ChannelKey(list: list, id: try #require(ChannelID(rawValue: id))),
                    policy: id == "AAAA" ? .none : .newest, created: later(1))
            }
            for result in await channels.create(all, limit: 3) { try result.get() }
            let notification = Notification(
                id: NotificationID(high: 3, low: 4), topic: "com.example.\u{0}app", pushType: .liveActivity,
                priority: .immediate, expiration: Expiration(seconds: 5),
                payload: Payload(stored: Array(#"{"aps":{"event":"update"}}"#.utf8), contents: [.aps]))
            let version = try await channels.store([
                BroadcastEntry(
                    channel: all[1].key, notification: notification, expires: Timestamp(milliseconds: .max))
            ])[0].get()
            let subscriptions = [0, 300].flatMap { number in
                all.map { Subscription(device: destination(number).deviceKey, app: app, channel: $0.key.id) }
            }
            for result in await channels.subscribe(subscriptions, limit: 3, at: later(2)) { try result.get() }
            try await channels.mark([SeenBroadcast(subscription: subscriptions[1], version: version)])[0].get()
        }

        private func channels(_ channels: any Channels) async throws -> [String] {
            let all = try await channels.channels(
                of: ChannelList(environment: device.environment, app: app), after: nil, limit: 10)
            let stored = try await channels.stored(all.map(\.key))
            var lines = zip(all, stored).map { channel, stored in
                "\(channel) \(stored.map { "\($0.entry.expires) \($0.entry.notification.fields)" } ?? "")"
            }
            for number in [0, 1, 300] as [UInt64] {
                let subscribed = try await channels.subscriptions(of: destination(number).deviceKey)
                    .filter { $0.channel.key.list.app == app }
                lines += subscribed.map { "\(number) \($0.channel.key.id) \($0.seen != nil)" }.sorted()
            }
            return lines
        }

        private func contents(_ place: CopyPlace, _ places: Places) async throws -> [String] {
            try await places.with(place) { try await contents($0) }
        }

        @Test func `Everything is the same after it was copied into a database and back`() async throws {
            try await withPlaces { places in
                try await places.with(places.first, isTarget: true) { try await fill($0) }
                let before = try await contents(places.first, places)
                let counts = try await places.copy(places.first, to: places.database)
                #expect(counts.registrations == 451 && counts.notifications == 252 && counts.feedback == 2)
                #expect(counts.channels == 3 && counts.broadcasts == 1 && counts.subscriptions == 6)
                #expect(counts.invitations == 1 && counts.secrets == 2 && counts.revokedDevices == 1)
                #expect(counts.administrators == 2 && counts.upstreams == 1 && counts.held == 2)
                #expect(try await contents(places.database, places) == before)
                #expect(try await places.copy(places.database, to: places.last) == counts)
                #expect(try await contents(places.last, places) == before)
            }
        }

        /// Stores a notification as release 0.2.0 did.
        private func holdInClear(_ id: String, _ store: any CopyableStore) async throws {
            let sql = try #require(store as? any SQLStore)
            let headers = Array(#"{"id":"\#(id)","share":"team ABCDE12345","via":""}"#.utf8)
            try await sql.change([
                """
                INSERT INTO held_push (bundle_id, environment, expires, taken, token, payload, headers)
                SELECT \("com.example.app"), \(Int64(1)), \(Int64.max), \(Int64(0)), \(clearToken), \(clearPayload),
                    \(headers)
                """
            ])
        }

        private let clearToken = Array("device token in clear".utf8)
        private let clearPayload = Array(#"{"aps":{"alert":"in clear"}}"#.utf8)

        /// Whether all held notifications are encrypted for their rows.
        private func expectSealed(_ store: any CopyableStore, _ seal: HeldSeal, ids: [String]) async throws {
            #expect(try await store.copiedClearHeld(after: 0, limit: 10).isEmpty)
            let held = try await store.copiedHeld(after: 0, limit: 10)
            #expect(held.map(\.headers.id) == ids)
            for push in held {
                #expect(push.deviceToken != clearToken && push.payload != clearPayload)
                let opened = try #require(seal.opened(push))
                #expect(opened.deviceToken == clearToken && opened.payload == clearPayload)
            }
        }

        @Test func `What an earlier release holds in clear is encrypted when it is copied and when a service starts`()
            async throws
        {
            try await withPlaces { places in
                let key = try await places.with(places.first, isTarget: true) { store in
                    try await fill(store)
                    for push in try await store.copiedHeld(after: 0, limit: 10) {
                        try await store.removeHeld([push.number])
                    }
                    for id in ["a", "b"] { try await holdInClear(id, store) }
                    return try await store.secrets.keep(CredentialSeal.makeKey(), as: .credentialKey)
                }
                let seal = HeldSeal(try #require(CredentialSeal(key: key)))
                #expect(try await places.copy(places.first, to: places.database).held == 2)
                try await places.with(places.first) { store in
                    try await start(store, seal)
                    try await expectSealed(store, seal, ids: ["a", "b"])
                }
                try await places.with(places.database) { store in
                    try await expectSealed(store, seal, ids: ["a", "b"])
                    // A node of the earlier release still runs.
                    for id in ["c", "d"] { try await holdInClear(id, store) }
                    try await start(store, seal)
                    try await expectSealed(store, seal, ids: ["a", "b", "c", "d"])
                    let sql = try #require(store as? any SQLStore)
                    let bytes = try await sql.read("SELECT pg_relation_size('held_push')") {
                        row throws(StoreError) in row.integer(0)
                    }
                    #expect(bytes == [0])
                }
            }
        }

        /// Does what a service does with held notifications when it starts.
        private func start(_ store: any CopyableStore, _ seal: HeldSeal) async throws {
            let held = SealedHeldPushes(store, seal, log: NoDeliveryLog(), clock: ServiceClock { .now() })
            #expect(try await held.sealClear() == nil)
        }

        @Test func `A new mailbox version is greater than all that were copied`() async throws {
            try await withPlaces { places in
                try await places.with(places.first, isTarget: true) { try await fill($0) }
                _ = try await places.copy(places.first, to: places.database)
                func store(_ place: CopyPlace) async throws -> UInt64 {
                    try await places.with(place) { store in
                        try await store.store([try entry(destination(0), 9)])[0].get().rawValue
                    }
                }
                let newest = try await store(places.database)
                _ = try await places.copy(places.database, to: places.last)
                #expect(try await store(places.last) > newest)
            }
        }

        @Test(arguments: [true, false])
        func `An unfinished copy is of no use for anything else, and begins anew`(isDatabase: Bool) async throws {
            try await withPlaces { places in
                try await places.with(places.first, isTarget: true) { try await fill($0) }
                let target = isDatabase ? places.database : places.last
                try await places.with(target, isTarget: true) { store in
                    try await store.beginCopy(of: 7)
                    try await store.fill([
                        Invitation(digest: [9], environment: .production, expires: Timestamp(milliseconds: .max))
                    ])
                }
                // As a source, and as the target of another source.
                await #expect(throws: ServiceError.self) { try await places.copy(target, to: places.first) }
                await #expect(throws: ServiceError.self) { try await places.copy(places.first, to: target) }
                try await places.with(target, isTarget: true) { store in
                    try await store.beginCopy(of: 7)
                    #expect(try await store.copiedInvitations().isEmpty)
                    try await store.endCopy()
                    #expect(try await !store.isUnfinishedCopy())
                }
                _ = try await contents(target, places)
            }
        }
    }
#endif
