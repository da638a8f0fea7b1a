import ArgumentParser
import CommandSupport
import Crypto
import Delivery
import Foundation
import HTTPAPIClient
import Management
import Notifications
import Service

/// What instances may send through the gateway (docs/gateway.md).
struct GrantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "What self-hosted instances may send to an app of yours.",
        discussion: """
            An instance gets a key of its own, and sends to the handles that the app on its users' phones has made. It never \
            sees a device token or your own key.
            """,
        subcommands: [
            Create.self, ListCommand<ManagementMessages.Grant>.self, ShowCommand<ManagementMessages.Grant>.self,
            Set.self, Suspend.self, Resume.self, RemoveCommand<ManagementMessages.Grant>.self, Key.self, Handles.self,
            Handle.self, Invite.self,
        ])

    /// The options of a new grant.
    struct NewGrant: ParsableArguments {
        @Option(name: .customLong("bundle-id"), help: "The app's bundle ID.")
        var bundleID: String

        @Option(help: "The instance's name, for people.")
        var name: String

        @OptionGroup var limits: Limits

        func validate() throws { try limits.check(from: 1) }

        func message(_ publicKey: String?, webPush: Bool? = nil) throws -> ManagementMessages.NewGrant {
            var grant = ManagementMessages.NewGrant(
                bundleID: bundleID, name: name, publicKey: publicKey, webPush: webPush)
            try limits.set(&grant.limits)
            return grant
        }
    }

    /// The options that limit a grant.
    struct Limits: ParsableArguments {
        @Option(
            name: .customLong("topic"),
            help: "A topic of the app that it may send to (repeatable); all of them if it is not given.")
        var topics: [String] = []

        @Option(
            name: .customLong("push-type"), help: "A push type that it may send (repeatable); all if it is not given.")
        var pushTypes: [String] = []

        @Option(
            name: .customLong("priority"), help: "A priority that it may use (repeatable); all if it is not given.")
        var priorities: [UInt8] = []

        @Option(help: "How many notifications it may send each second.")
        var rate: Int?

        @Option(help: "How many it may send at once; as many as in a second if it is not given.")
        var burst: Int?

        @Option(help: "How many it may send on one day (UTC).")
        var daily: Int?

        @Option(name: .customLong("payload-bytes"), help: "The largest payload, in bytes.")
        var payloadBytes: Int?

        @Option(
            help: ArgumentHelp(
                "The end of the grant: 2027-01-31, or 2027-01-31T12:00:00Z. A date alone is its beginning (UTC).",
                valueName: "date"))
        var expires: String?

        @Option(
            name: .customLong("encrypted-only"), defaultAsFlag: "true", parsing: .next,
            help: ArgumentHelp(
                "It may send nothing but encrypted payloads, beside an aps dictionary that says nothing.",
                discussion: EncryptedOnlyArgument.discussion, valueName: "form"))
        // A text: a form that could not be read would count as an argument after a flag.
        var encryptedOnly: String?

        @Option(name: .customLong("maximum-handles"), help: "How many active handles it may have.")
        var maximumHandles: Int?

        @Option(
            help: ArgumentHelp(
                "open, or code: the registration of a handle needs a code that the instance signs, and that counts once.",
                valueName: "open|code"))
        var registration: GrantRegistration?

        /// - Parameter least: 0 if 0 removes a limit.
        func check(from least: Int) throws {
            _ = try encryptedOnly.map(EncryptedOnlyArgument.read)
            let numbers: [(String, Int?)] = [
                ("--rate", rate), ("--burst", burst), ("--daily", daily), ("--payload-bytes", payloadBytes),
                ("--maximum-handles", maximumHandles),
            ]
            for (option, number) in numbers {
                if let number, number < least { throw ValidationError("\(option) takes a number from \(least) on.") }
            }
            if let expires, least > 0 || !Self.removes(expires) { _ = try Self.milliseconds(expires) }
        }

        /// Whether a date in a change removes the limit.
        private static func removes(_ date: String) -> Bool { date.isEmpty || date == "0" }

        static func milliseconds(_ text: String) throws -> UInt64 {
            let date =
                (try? Date(text, strategy: .iso8601))
                ?? (try? Date(text, strategy: .iso8601.year().month().day()))
            guard CalendarTime.exists(text), let seconds = date?.timeIntervalSince1970, seconds > 0 else {
                throw ValidationError("--expires takes a date as 2027-01-31 or 2027-01-31T12:00:00Z.")
            }
            return UInt64(seconds * 1000)  // fits: Foundation reads years of five digits at most
        }

        /// What was given. An empty text, and the priority 0, stand for an empty list, which removes a limit.
        func set(_ limits: inout ManagementMessages.GrantBounds) throws {
            limits.topics = topics.isEmpty ? nil : topics.filter { !$0.isEmpty }
            limits.pushTypes = pushTypes.isEmpty ? nil : pushTypes.filter { !$0.isEmpty }
            limits.priorities = priorities.isEmpty ? nil : priorities.filter { $0 != 0 }
            (limits.rate, limits.burst, limits.daily) = (rate, burst, daily)
            limits.payloadBytes = payloadBytes
            limits.expires = try expires.map { Self.removes($0) ? 0 : try Self.milliseconds($0) }
            limits.encryptedOnly = try encryptedOnly.map(EncryptedOnlyArgument.read)
            limits.maximumHandles = maximumHandles
            limits.registration = registration?.rawValue
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a grant for an instance.",
            discussion: """
                With --out, a new key is written to a file, once; give it to the instance. With --public-key the instance \
                keeps its key, and gives you the public half. With --web-push there is no key: for the phones of your own app, \
                to which everybody's servers send over Web Push.
                """)

        @OptionGroup var common: CommonOptions
        @OptionGroup var grant: NewGrant

        @Flag(
            name: .customLong("web-push"),
            help:
                "Without a key: with the client key the app makes endpoints of Web Push, and whoever has one may send.")
        var webPush = false

        @Option(help: "The folder for AuthKey_<key ID>.p8.")
        var out: String?

        @Option(
            name: .customLong("public-key"), help: "A file with the public half of the instance's key (P-256), in PEM.")
        var publicKey: String?

        func validate() throws {
            guard [out != nil, publicKey != nil, webPush].count(where: { $0 }) == 1 else {
                throw ValidationError("Give one of --out, the folder for a new key, --public-key, and --web-push.")
            }
        }

        func run() async throws {
            if webPush {
                return report(
                    try await common.management().ask(.POST, "/v1/grants", grant.message(nil, webPush: true)), path: nil
                )
            }
            if let publicKey {
                return report(try await register(try NewKeyFile.publicKey(in: publicKey)), path: nil)
            }
            let (key, file) = (P256.Signing.PrivateKey(), try NewKeyFile(folder: out ?? "."))
            let (made, path) = try await file.fill(with: key) {
                try await register(key.publicKey)
            } keyID: {
                $0.keyID ?? ""
            }
            report(made, path: path)
        }

        private func register(_ key: P256.Signing.PublicKey) async throws -> ManagementMessages.GrantMade {
            try await common.management().ask(.POST, "/v1/grants", grant.message(key.pemRepresentation))
        }

        private func report(_ made: ManagementMessages.GrantMade, path: String?) {
            let keys = [made.keyID.map { "key ID      \($0)" }, path.map { "key file    \($0)" }].compactMap { $0 }
            let lines =
                made.keyID == nil
                ? ["Made the grant \(made.grant). The app needs:"]
                : ["Made the grant \(made.grant). The instance needs:", "team ID     \(made.teamID)"] + keys
            common.output.print(
                Made(
                    grant: made.grant, teamID: made.teamID, keyID: made.keyID, path: path, clientKey: made.clientKey,
                    bundleID: made.bundleID, webPush: made.webPush),
                (lines + ["client key  \(made.clientKey)"]).joined(separator: "\n"))
        }

        private struct Made: Encodable {
            let grant: String
            let teamID: String
            let keyID: String?
            let path: String?
            let clientKey: String
            let bundleID: String
            let webPush: Bool?
        }
    }

    struct Suspend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Refuse a grant's keys at once, until you resume it.")

        @OptionGroup var common: CommonOptions

        @Argument(help: ArgumentHelp("The grant's ID.", valueName: "grant"))
        var grant: String

        func run() async throws { try await GrantCommand.change(grant, suspended: true, common) }
    }

    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Accept a suspended grant's keys again.")

        @OptionGroup var common: CommonOptions

        @Argument(help: ArgumentHelp("The grant's ID.", valueName: "grant"))
        var grant: String

        func run() async throws { try await GrantCommand.change(grant, suspended: false, common) }
    }

    fileprivate static func change(_ grant: String, suspended: Bool, _ common: CommonOptions) async throws {
        let changed: ManagementMessages.Grant = try await common.management().ask(
            .PATCH, ManagementMessages.Grant.path(of: grant), ManagementMessages.GrantChange(suspended: suspended))
        common.output.print(changed, "\(suspended ? "Suspended" : "Resumed") the grant \(changed.grant).")
    }

    struct Invite: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a one-time code with which an instance makes its own grant.",
            discussion: "The instance sends the code and its public key to the provider port: docs/gateway.md.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var grant: NewGrant

        func run() async throws {
            let made: ManagementMessages.GrantInvitationMade = try await common.management().ask(
                .POST, "/v1/grant-invitations", grant.message(nil))
            common.output.print(made, "\(made.code)  until \(dateText(milliseconds: made.expires))")
        }
    }
}

extension GrantCommand {
    static func count(ofHandles count: Int) -> String { count == 1 ? "1 handle" : "\(count) handles" }
}

extension ManagementMessages.Grant: RemovableItem {
    static let path = "/v1/grants"
    static let plural = "grants, and what they sent"
    static let singular = "a grant, and what it sent"
    static let argument = (help: "The grant's ID", value: "grant")

    static let removal = (
        command: "revoke",
        abstract: "Revoke a grant at once, with its keys and its handles. This cannot be undone.",
        discussion: ""
    )

    var itemName: String { grant }

    var line: String {
        let state = revoked.map { "revoked \(dateText(milliseconds: $0))" } ?? (suspended ? "suspended" : "active")
        let answers = sent.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let limited = [
            limits.rate.map { "\($0) a second" }, limits.daily.map { "\($0) a day" },
            limits.payloadBytes.map { "\($0) bytes" }, EncryptedOnlyArgument.shown(limits.encryptedOnly),
            limits.expires.map { "until \(dateText(milliseconds: $0))" },
        ].compactMap { $0 }.joined(separator: ", ")
        return [
            grant, name, bundleID, webPush == true ? "web push" : nil, state, limited.isEmpty ? "no limits" : limited,
            GrantCommand.count(ofHandles: handles),
            limits.registration == GrantRegistration.code.rawValue ? "registration by code" : nil,
            answers.isEmpty ? "nothing sent" : "sent: \(answers)",
        ].compactMap { $0 }.joined(separator: "  ")
    }

    static func line(_ revoked: ManagementMessages.Grant) -> String { "Revoked the grant \(revoked.grant)." }
}
