import Crypto
import Delivery
import Foundation
import HTTPAPI
import Notifications
import Storage
import Trust
import VirtualDevices

/// A fixture that has been checked completely, and the changes that make it.
///
/// The plan applies all changes to a copy of the accounts first. So a change that the accounts' rules refuse is found
/// before anything is made, with its place in the document.
struct FixturePlan: Sendable {
    /// The existing teams that the fixture replaces. They are deleted first.
    private(set) var replaced: [TeamID] = []
    private(set) var teams: [PlannedTeam] = []
    /// The document with the values that the service chooses, except for those that only the store can give.
    private(set) var document = ManagementMessages.Fixture(teams: [])

    struct PlannedTeam: Sendable {
        let id: TeamID
        /// The changes, in the order in which they have to be applied.
        var changes: [AccountChange] = []
        var devices: [PlannedDevice] = []
    }

    struct PlannedDevice: Sendable {
        let name: String?
        let apps: [BundleID]
        let tokens: [BundleID: [TopicKind: [UInt8]]]
        let behaviour: DeviceBehaviour
        let power: DevicePower
        let subscriptions: [PlannedSubscription]
    }

    private let api: ManagementAPI
    let testing: ManagementTesting
    /// The accounts as they would be.
    private var accounts: AccountsSnapshot
    private var nextAppID = AppID(rawValue: .max)
    /// The named tokens of the document, by topic.
    private var tokens: [String: Set<[UInt8]>] = [:]
    /// The named endpoints of the document, with their places.
    var endpoints: [EndpointID: String] = [:]
    private var random = SystemRandomNumberGenerator()

    /// - Parameters:
    ///   - replaces: whether the teams that have an identifier of the document are deleted first.
    ///   - taken: an app of another team that the fixture may have. It is deleted first; nil for none.
    /// - Throws: a ``Problem`` with the place of the first fault.
    init(
        _ fixture: ManagementMessages.Fixture,
        replaces: Bool,
        taking taken: BundleID?,
        _ api: ManagementAPI,
        _ testing: ManagementTesting,
    ) throws {
        self.api = api
        self.testing = testing
        accounts = api.accounts.current
        let teams = fixture.teams ?? []
        if replaces { try replace(teams, taking: taken) }
        // If its team is replaced, it is deleted already.
        if let taken, accounts.apps[taken] != nil { try apply(.deleteApp(taken, at: api.now), at: "/teams") }
        for (index, team) in teams.enumerated() { try add(team, at: "/teams/\(index)") }
        let devices = self.teams.reduce(0) { $0 + $1.devices.count }
        let kept = testing.devices.all.count { $0.firstSeen == nil && !replaced.contains($0.team) }
        guard kept + devices <= VirtualDeviceLimits.devices else {
            throw Problem(
                409, "There may be \(VirtualDeviceLimits.devices) virtual devices, and there are \(kept).",
                pointer: "/teams")
        }
    }

    /// Deletes the teams that have a team ID, a bundle ID or a key ID of the document. The team of the first start stays: the
    /// commands send with its key.
    private mutating func replace(_ teams: [ManagementMessages.FixtureTeam], taking taken: BundleID?) throws {
        let present = accounts
        var owners: [TeamID] = []
        for team in teams {
            if let name = team.teamID { owners.append(try api.teamID(name)) }
            let apps = (team.apps ?? []).compactMap { BundleID(rawValue: $0.bundleID) }.filter { $0 != taken }
            owners += apps.compactMap { present.apps[$0]?.team }
            owners += (team.keys ?? []).compactMap { $0.keyID.flatMap(KeyID.init(rawValue:)) }.compactMap {
                present.keys[$0]?.team
            }
        }
        let first = testing.first()?.team
        for id in owners where present.teams[id] != nil && !replaced.contains(id) && id != first {
            try apply(.deleteTeam(id, at: api.now), at: "/teams")
            replaced.append(id)
        }
    }

    private mutating func add(_ written: ManagementMessages.FixtureTeam, at pointer: String) throws {
        var written = written
        let id = try written.teamID.map { try api.new($0, at: pointer + "/teamID") } ?? TeamID.random(using: &random)
        written.teamID = id.rawValue
        written.name = written.name ?? id.rawValue
        written.apps = written.apps ?? []
        teams.append(PlannedTeam(id: id))
        let team = Team(id: id, name: written.name ?? id.rawValue)
        try change(.createTeam(team), at: pointer + "/teamID")
        let names = (written.apps ?? []).map(\.bundleID)
        try create(try names.map(api.bundleID), of: id, at: pointer)
        for (index, app) in (written.apps ?? []).enumerated() {
            guard let keep = app.keep else { continue }
            try change(.setKeep(try api.bundleID(app.bundleID), keep), at: "\(pointer)/apps/\(index)/keep")
        }
        written.keys = try (written.keys ?? [ManagementMessages.FixtureKey()]).enumerated().map { index, key in
            try self.key(key, of: id, at: "\(pointer)/keys/\(index)")
        }
        written.certificates = try written.certificates?.enumerated().map { index, certificate in
            try self.certificate(certificate, names, of: id, at: "\(pointer)/certificates/\(index)")
        }
        written.devices = try written.devices?.enumerated().map { index, device in
            let (completed, planned) = try self.device(
                device, apps: names, at: "\(pointer)/devices/\(index)")
            teams[teams.count - 1].devices.append(planned)
            return completed
        }
        document.teams?.append(written)
    }

    /// Plans the apps of a team as one change, because each change copies the accounts.
    private mutating func create(_ apps: [BundleID], of team: TeamID, at pointer: String) throws {
        guard !apps.isEmpty else { return }
        let change = AccountChange.createApps(apps, team: team)
        let first = AppID(rawValue: nextAppID.rawValue - UInt32(clamping: apps.count))
        do throws(StoreError) {
            accounts = try accounts.applying(change, nextAppID: first) ?? accounts
        } catch {
            // One after the other, to find the place of the fault.
            for (index, app) in apps.enumerated() {
                try apply(.createApp(bundleID: app, team: team), at: "\(pointer)/apps/\(index)")
            }
            throw Problem(409, error.cause, pointer: "\(pointer)/apps")
        }
        nextAppID = AppID(rawValue: first.rawValue - 1)  // fits: one for each app of the body
        teams[teams.count - 1].changes.append(change)
    }

    /// Applies a change to the copy of the accounts, and plans it.
    private mutating func change(_ change: AccountChange, at pointer: String) throws {
        try apply(change, at: pointer)
        teams[teams.count - 1].changes.append(change)
    }

    private mutating func apply(_ change: AccountChange, at pointer: String) throws {
        do throws(StoreError) {
            accounts = try accounts.applying(change, nextAppID: nextAppID) ?? accounts
            if case .createApps(let apps, _) = change {
                nextAppID = AppID(rawValue: nextAppID.rawValue - UInt32(clamping: apps.count))
            }
        } catch {
            throw Problem(409, error.cause, pointer: pointer)
        }
    }
}

// MARK: - Keys and certificates

extension FixturePlan {
    private mutating func key(
        _ written: ManagementMessages.FixtureKey,
        of team: TeamID,
        at pointer: String,
    ) throws -> ManagementMessages.FixtureKey {
        var written = written
        let id = try written.keyID.map { try api.new($0, at: pointer + "/keyID") } ?? KeyID.random(using: &random)
        let key: P256.Signing.PrivateKey
        if let pem = written.privateKey {
            key = try ManagementAPI.privateKey(in: pem, at: pointer + "/privateKey")
        } else {
            key = P256.Signing.PrivateKey()
            written.privateKey = key.pemRepresentation
        }
        // The keys of a team that is deleted first are forgotten with it.
        if !replaced.contains(team), let reason = api.refusal(of: id, of: team, key.publicKey) {
            throw Problem(409, reason, pointer: pointer + "/keyID")
        }
        let environments = try written.environment.map { [try api.environment($0)] } ?? Environment.allCases
        written.keyID = id.rawValue
        try change(
            .createKey(
                TeamKey(
                    id: id, team: team, publicKey: Array(key.publicKey.x963Representation),
                    environments: Set(environments))), at: pointer + "/keyID")
        return written
    }

    private mutating func certificate(
        _ written: ManagementMessages.FixtureCertificate,
        _ apps: [String],
        of team: TeamID,
        at pointer: String,
    ) throws -> ManagementMessages.FixtureCertificate {
        var written = written
        guard let bundleID = written.bundleID ?? (apps.count == 1 ? apps.first : nil) else {
            throw Problem.invalid(pointer, "The key bundleID is missing; only a team with one app can leave it out.")
        }
        let environment = written.environment ?? ManagementMessages.NewCertificate.universal
        let passphrase = try PKCS12.passphrase(written.passphrase, format: written.format, at: pointer)
        let issued = try api.issueCertificate(
            ManagementMessages.NewCertificate(
                team: team.rawValue, bundleID: bundleID, environment: environment,
                includesChain: written.includesChain))
        try change(.createCertificate(issued.certificate), at: pointer + "/bundleID")
        written.bundleID = bundleID
        written.environment = environment
        written.serial = issued.made.serial
        written.topics = issued.made.topics
        written.chain = issued.made.chain
        written.privateKey = issued.made.privateKey
        written.p12 = try PKCS12.base64(issued.made, passphrase: passphrase)
        return written
    }
}

// MARK: - Devices

extension FixturePlan {
    private mutating func device(
        _ written: ManagementMessages.FixtureDevice,
        apps teamApps: [String],
        at pointer: String,
    ) throws -> (ManagementMessages.FixtureDevice, PlannedDevice) {
        var written = written
        let behaviour = try DeviceBehaviour(
            written.behaviour ?? ManagementMessages.Behaviour(kind: DeviceBehaviour.Kind.online.rawValue),
            at: pointer + "/behaviour")
        let apps = try (written.apps ?? teamApps).enumerated().map { index, name in
            guard teamApps.contains(name) else {
                throw Problem.invalid("\(pointer)/apps/\(index)", "The team has no app \(name).")
            }
            return try api.bundleID(name)
        }
        guard Set(apps).count == apps.count else {
            throw Problem.invalid(pointer + "/apps", "The list has an app twice.")
        }
        guard apps.count <= VirtualDeviceLimits.apps else {
            throw Problem.invalid(
                pointer + "/apps",
                "A device may have \(VirtualDeviceLimits.apps) apps, and it gets all of its team's without this list.")
        }
        var named: [BundleID: [TopicKind: [UInt8]]] = [:]
        for (name, text) in (written.tokens ?? [:]).sorted(by: { $0.key < $1.key }) {
            let place = "\(pointer)/tokens/\(JSONValue.escaped(name))"
            guard let (bundleID, service) = Self.purpose(of: name, among: apps) else {
                throw Problem.invalid(place, "The device has no app \(name), and none with this topic.")
            }
            named[bundleID, default: [:]][service] = try token(text, of: bundleID, service, at: place)
        }
        let subscriptions = try self.subscriptions(
            written.subscriptions ?? [], apps: apps, at: pointer + "/subscriptions")
        written.apps = apps.map(\.rawValue)
        written.environment = Environment.development.rawValue
        written.behaviour = ManagementMessages.Behaviour(behaviour)
        // The default is `charging`: then the device takes every notification at once.
        let power = written.power.flatMap(DevicePower.init) ?? .charging
        return (
            written,
            PlannedDevice(
                name: written.name, apps: apps, tokens: named, behaviour: behaviour, power: power,
                subscriptions: subscriptions)
        )
    }

    /// Returns the app and the service whose topic this is. A bundle ID may end like a service's topic.
    private static func purpose(of topic: String, among apps: [BundleID]) -> (BundleID, TopicKind)? {
        for service in TopicKind.allCases {
            if let app = apps.first(where: { $0.topic(service) == topic }) { return (app, service) }
        }
        return nil
    }

    private mutating func token(
        _ text: String,
        of bundleID: BundleID,
        _ service: TopicKind,
        at pointer: String,
    ) throws -> [UInt8] {
        guard let bytes = Hexadecimal.bytes(text), NamedTokens.byteCounts.contains(bytes.count) else {
            let counts = NamedTokens.byteCounts
            throw Problem.invalid(
                pointer,
                "The value has to be \(counts.lowerBound) to \(counts.upperBound) bytes in hexadecimal digits.")
        }
        // An app that is deleted first takes its tokens with it.
        let app = api.accounts.current.apps[bundleID].flatMap { replaced.contains($0.team) ? nil : $0 }
        let isTaken = app.map { testing.devices.names.contains(bytes, app: $0.id, service: service) } ?? false
        guard !isTaken, tokens[bundleID.topic(service), default: []].insert(bytes).inserted else {
            throw Problem(409, "Another device has this token for \(bundleID.topic(service)).", pointer: pointer)
        }
        return bytes
    }

    /// Plans a device for a team that exists already.
    static func joining(
        _ written: ManagementMessages.FixtureDevice,
        _ team: TeamID,
        _ api: ManagementAPI,
        _ testing: ManagementTesting,
    ) async throws -> PlannedDevice {
        var plan = try FixturePlan(ManagementMessages.Fixture(), replaces: false, taking: nil, api, testing)
        let apps = api.accounts.current.apps.values.filter { $0.team == team }.map(\.bundleID.rawValue).sorted()
        guard testing.devices.count < VirtualDeviceLimits.devices else {
            throw Problem(
                409, "There are \(VirtualDeviceLimits.devices) virtual devices, which is the limit; remove one of them."
            )
        }
        let device = try plan.device(written, apps: apps, at: "").1
        try await plan.checkEndpoints()
        return device
    }
}
