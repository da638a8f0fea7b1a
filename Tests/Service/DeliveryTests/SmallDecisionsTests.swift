import Delivery
import Notifications
import Storage
import Testing

/// Decisions without state.
@Suite("Rates, limits, standings and names")
struct SmallDecisionsTests {
    // MARK: Registration

    private static func registration(isActive: Bool = true) -> Registration {
        Registration(
            generation: 3,
            tokenKeyID: 7,
            tokenSince: Timestamp(milliseconds: 1000),
            isActive: isActive,
            changed: Timestamp(milliseconds: 2000),
        )
    }

    @Test
    func `The present token of an active registration is accepted`() {
        #expect(Self.registration().rejection(ofGeneration: 3) == nil)
    }

    @Test(arguments: [true, false])
    func `A token that was never given out is bad`(isActive: Bool) {
        let rejection = Self.registration(isActive: isActive).rejection(ofGeneration: 4)
        #expect(rejection?.reason == .badDeviceToken)
        #expect(rejection?.timestamp == nil)
    }

    @Test(arguments: [true, false])
    func `An older device token is unregistered since the time when the newer one began`(isActive: Bool) {
        let rejection = Self.registration(isActive: isActive).rejection(ofGeneration: 2)
        #expect(rejection?.reason == .unregistered)
        #expect(rejection?.timestamp == 1000)
    }

    @Test
    func `The present token of an ended registration is unregistered since its end`() {
        let rejection = Self.registration(isActive: false).rejection(ofGeneration: 3)
        #expect(rejection?.reason == .unregistered)
        #expect(rejection?.timestamp == 2000)
    }

    // MARK: Forwarding

    @Test(arguments: [nil, Rejection.Reason.serviceUnavailable])
    func `The log has that a notification may have reached the upstream, and how that ended`(
        _ refusal: Rejection.Reason?
    ) {
        var told = UpstreamAnswer(status: 410, reason: "Unregistered")
        #expect(
            ForwardingAnswer.answered(told).steps(own: "accepted", refusal: refusal)
                == [.forwarded, .answered(status: 410, reason: "Unregistered", own: "accepted")])
        told.status = .max
        #expect(
            ForwardingAnswer.answered(told).steps(refusal: refusal)
                == [.forwarded, .answered(status: .max, reason: "Unregistered")])
        let last = refusal.map { [DeliveryStep.rejected($0)] } ?? []
        #expect(
            ForwardingAnswer.failed("It is gone.", mayHaveBeenTaken: true).steps(refusal: refusal)
                == [.forwarded] + last)
        #expect(ForwardingAnswer.failed("It is off.", mayHaveBeenTaken: false).steps(refusal: refusal) == last)
    }

    // MARK: Expiry

    private static func expiry(_ expiration: Expiration) -> Timestamp? {
        DeliveryLimits().expiry(of: Example.notification(1, expiration), now: Example.moment)
    }

    private static let retained = Example.moment.advanced(by: DeliveryLimits().retention)

    @Test
    func `A notification without an expiration is kept for the retention`() {
        #expect(Self.expiry(.unspecified) == Self.retained)
    }

    @Test
    func `An expiration within the retention is exact to the second`() {
        let seconds = Example.moment.seconds
        #expect(Self.expiry(.at(seconds + 1)) == Timestamp(seconds: seconds + 1))
        #expect(Self.expiry(.at(Self.retained.seconds)) == Self.retained)
        #expect(Self.expiry(.at(Self.retained.seconds + 1)) == Self.retained)
        #expect(Self.expiry(.at(.max)) == Self.retained)
    }

    @Test
    func `A notification that expires at once, now or in the past is not stored`() {
        let seconds = Example.moment.seconds
        for expiration in [Expiration.immediately, .at(seconds), .at(seconds - 1), .at(1)] {
            #expect(Self.expiry(expiration) == nil)
        }
    }

    // MARK: SecretName

    private static let names: [String] = [
        "a", "token-keys", "ca.production", "0", "-", "a..b", String(repeating: "a", count: 64),
    ]
    private static let notNames: [String] = [
        "", ".", ".hidden", "..", "A", "a b", "a/b", "a_b", "é", "a\0", "a\n", String(repeating: "a", count: 65),
    ]

    @Test(arguments: names)
    func `The name of a secret can be the name of a file`(_ text: String) {
        #expect(SecretName(rawValue: text)?.rawValue == text)
    }

    @Test(arguments: notNames)
    func `Any other text is not the name of a secret`(_ text: String) {
        #expect(SecretName(rawValue: text) == nil)
    }

    // MARK: Topics

    @Test
    func `A topic belongs to the app whose bundle ID equals the topic or its beginning`() throws {
        let team = try #require(TeamID(rawValue: "TEAM000001"))
        let bundleIDs = try ["com.example.app", "com.example.app.voip"].map { try #require(BundleID(rawValue: $0)) }
        let apps = zip(bundleIDs, 1...).map { App(id: AppID(rawValue: UInt32($1)), bundleID: $0, team: team) }
        let accounts = AccountsSnapshot(version: 1, apps: apps)
        for kind in TopicKind.allCases {
            // The second app's bundle ID equals the first app's topic for calls. An app takes precedence over another
            // app's service.
            let expected: UInt32 = kind == .voip ? 2 : 1
            let found = accounts.app(forTopic: bundleIDs[0].topic(kind))
            #expect(found?.app.id.rawValue == expected)
            #expect(found?.kind == (kind == .voip ? .app : kind))
        }
        for topic in [
            "", ".voip", "com.example", "com.example.app.", "com.example.app.other", "com.example.other.voip",
        ] {
            #expect(accounts.app(forTopic: topic) == nil)
        }
    }

    @Test func `A public key that an earlier release revoked under one identifier is revoked under all`() throws {
        let team = try #require(TeamID(rawValue: "TEAM000001"))
        let bundleID = try #require(BundleID(rawValue: "com.example.app"))
        let names = try ["KEY0000001", "KEY0000002", "KEY0000003", "KEY0000004"].map {
            try #require(KeyID(rawValue: $0))
        }
        let moment = Timestamp(milliseconds: 1_700_000_000_000)
        func key(_ index: Int, _ publicKey: UInt8, revoked: Timestamp? = nil) -> TeamKey {
            TeamKey(
                id: names[index], team: team, publicKey: [publicKey], environments: [.production], revoked: revoked)
        }
        func grant(_ digit: String, _ publicKey: UInt8) throws -> Grant {
            Grant(
                id: try #require(GrantID(rawValue: "g_" + String(repeating: digit, count: 16))), bundleID: bundleID,
                team: team, name: "", key: names[3], publicKey: [publicKey], clientKey: "", made: moment)
        }
        let accounts = AccountsSnapshot(
            version: 1, apps: [App(id: AppID(rawValue: 1), bundleID: bundleID, team: team)],
            keys: [key(0, 1, revoked: moment), key(1, 1), key(2, 2)], revokedKeys: [[3]],
            grants: [try grant("a", 1), try grant("b", 2), try grant("c", 3)])
        #expect(names[0...2].map { accounts.keys[$0]?.revoked } == [moment, moment, nil])
        #expect(accounts.grants.values.filter { $0.revoked == nil }.map(\.publicKey) == [[2]])
        #expect(accounts.revokedKeys == [[1], [3]])
    }
}
