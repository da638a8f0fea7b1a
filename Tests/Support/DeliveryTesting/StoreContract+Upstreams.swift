import Delivery
import Notifications
import Storage
import Testing

extension StoreContract {
    static let upstreamPromises: [Promise] = [
        Promise("an upstream reads back as it was", upstreamReadsBack),
        Promise("an upstream replaces the one before, in its environment only", replacesUpstream),
        Promise("an upstream needs its app, and ends with it", upstreamNeedsApp),
        Promise("settings of Web Push read back as they were, and end with their app", webPushReadsBack),
        Promise("one app of each environment has the relay's URL", oneRelay),
    ]

    private static func upstream(
        _ bundleID: BundleID,
        _ environment: Environment = .production,
        url: String = "https://push.example.com:2197",
    ) throws -> AppUpstream {
        AppUpstream(
            place: UpstreamPlace(bundleID: bundleID, environment: environment), url: url, authority: "PEM\n\u{0}é",
            credentials: .key(
                team: try #require(TeamID(rawValue: "TEAM000009")), key: try #require(KeyID(rawValue: "KEY0000009"))),
            sealedCredentials: [0, 1, 255], proxy: "http://proxy:3128", hold: 3_600_000, captures: false, compares: true
        )
    }

    private static func bundleID(_ ports: Ports, _ name: String = "com.example.forwarded") async throws -> BundleID {
        let (team, bundleID) = (try Samples.team(), try Samples.bundleID(name))
        if ports.accounts.current.teams[team.id] == nil { _ = try await ports.accounts.apply(.createTeam(team)) }
        _ = try await ports.accounts.apply(.createApp(bundleID: bundleID, team: team.id))
        return bundleID
    }

    @Sendable
    private static func upstreamReadsBack(_ ports: Ports) async throws {
        let bundleID = try await bundleID(ports)
        let one = try upstream(bundleID)
        let other = AppUpstream(
            place: UpstreamPlace(bundleID: bundleID, environment: .development), url: "https://127.0.0.1:1",
            credentials: .passthrough)
        _ = try await ports.accounts.apply(.setUpstream(one))
        let accounts = try await ports.accounts.apply(.setUpstream(other))
        #expect(accounts.upstreams == [one.place: one, other.place: other])
        #expect(ports.accounts.current.upstreams == accounts.upstreams)
    }

    @Sendable
    private static func replacesUpstream(_ ports: Ports) async throws {
        let bundleID = try await bundleID(ports)
        let (old, new) = (try upstream(bundleID), try upstream(bundleID, url: "https://other.example.com"))
        let other = try upstream(bundleID, .development)
        for upstream in [old, other, new] { _ = try await ports.accounts.apply(.setUpstream(upstream)) }
        #expect(ports.accounts.current.upstreams == [new.place: new, other.place: other])
        // What is there already is no change.
        let version = ports.accounts.current.version
        #expect(try await ports.accounts.apply(.setUpstream(new)).version == version)
        let accounts = try await ports.accounts.apply(.removeUpstream(new.place))
        #expect(accounts.upstreams == [other.place: other])
        await expectFailure(.missing) { _ = try await ports.accounts.apply(.removeUpstream(new.place)) }
    }

    @Sendable
    private static func upstreamNeedsApp(_ ports: Ports) async throws {
        let missing = try upstream(try Samples.bundleID("com.example.missing"))
        await expectFailure(.missing) { _ = try await ports.accounts.apply(.setUpstream(missing)) }
        let one = try await bundleID(ports)
        let other = try await bundleID(ports, "com.example.other")
        for bundleID in [one, other] { _ = try await ports.accounts.apply(.setUpstream(try upstream(bundleID))) }
        let accounts = try await ports.accounts.apply(.deleteApp(one, at: Samples.moment))
        #expect(accounts.upstreams.keys.map(\.bundleID) == [other])
        #expect(
            try await ports.accounts.apply(.deleteTeam(Samples.team().id, at: Samples.moment)).upstreams.isEmpty)
    }

    private static func settings(
        _ bundleID: BundleID, _ environment: Environment = .production, relaysTo: Bool = false, isPlain: Bool = false,
        template: WebPushTemplate = .usual,
    ) -> AppWebPush {
        AppWebPush(
            place: UpstreamPlace(bundleID: bundleID, environment: environment), template: template, relaysTo: relaysTo,
            isPlain: isPlain)
    }

    @Sendable
    private static func webPushReadsBack(_ ports: Ports) async throws {
        await expectFailure(.missing) {
            _ = try await ports.accounts.apply(.setWebPush(settings(try Samples.bundleID("com.example.missing"))))
        }
        let (one, other) = (try await bundleID(ports), try await bundleID(ports, "com.example.other"))
        let template = try WebPushTemplate(
            text: Array(#"{"aps":{"alert":"é\u0000🎺"},"n":1.10e2,"b":{"$webPush":"body","as":"z85"}}"#.utf8))
        let first = settings(one, relaysTo: true, template: template)
        let all = [first, settings(one, .development, isPlain: true), settings(other, template: .tootRelay)]
        for settings in all { _ = try await ports.accounts.apply(.setWebPush(settings)) }
        let expected = Dictionary(uniqueKeysWithValues: all.map { ($0.place, $0) })
        #expect(ports.accounts.current.webPush == expected)
        #expect(ports.accounts.current.webPush[first.place]?.template.document.text == template.document.text)
        let version = ports.accounts.current.version
        #expect(try await ports.accounts.apply(.setWebPush(first)).version == version)
        let removed = try await ports.accounts.apply(.removeWebPush(all[1].place))
        #expect(removed.webPush[all[1].place] == nil && removed.webPush.count == 2)
        await expectFailure(.missing) { _ = try await ports.accounts.apply(.removeWebPush(all[1].place)) }
        let accounts = try await ports.accounts.apply(.deleteApp(one, at: Samples.moment))
        #expect(accounts.webPush == [all[2].place: all[2]] && accounts.relay(in: .production) == nil)
        #expect(try await ports.accounts.apply(.deleteTeam(Samples.team().id, at: Samples.moment)).webPush.isEmpty)
    }

    @Sendable
    private static func oneRelay(_ ports: Ports) async throws {
        let (one, other) = (try await bundleID(ports), try await bundleID(ports, "com.example.other"))
        _ = try await ports.accounts.apply(.setWebPush(settings(one, relaysTo: true)))
        await expectFailure(.conflict) {
            _ = try await ports.accounts.apply(.setWebPush(settings(other, relaysTo: true)))
        }
        // The app itself may change its settings, and the other environment has a relay of its own.
        _ = try await ports.accounts.apply(.setWebPush(settings(one, relaysTo: true, isPlain: true)))
        _ = try await ports.accounts.apply(.setWebPush(settings(other, .development, relaysTo: true)))
        #expect(ports.accounts.current.relay(in: .production)?.place.bundleID == one)
        #expect(ports.accounts.current.relay(in: .development)?.place.bundleID == other)
        _ = try await ports.accounts.apply(.setWebPush(settings(one)))
        let accounts = try await ports.accounts.apply(.setWebPush(settings(other, relaysTo: true)))
        #expect(accounts.relay(in: .production)?.place.bundleID == other)
    }
}
