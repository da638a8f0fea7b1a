import APNSProvider
import Foundation
import HTTPAPI
import Notifications
import CampaignStore

/// An installation in the form that the API receives and shows.
struct InstallationDocument {
    /// The members that a request may set.
    static let requestMembers: [Schema.Member] = [
        .optional("bundleID", .string(.bundleID), "The app. A key of an app needs no name."),
        .required("deviceToken", .string(.deviceToken)),
        .optional("environment", .string(.environment), "production, if it is missing."),
        .optional(
            "languages", .array(.string(.any), count: 0...ProviderServerLimits.languages), "The preferred one first."),
        .optional("timeZone", .string(.any), "Such as Europe/Stockholm."),
        .optional("user", .string(.any)),
        .optional("tags", tagList, "The backend's tags."),
        .optional("appTags", tagList, "The app's tags."),
        .optional("appVersion", .string(.any)),
        .optional("values", .openObject, "The backend's values for templates: texts, numbers and booleans."),
        .optional("appValues", .openObject, "The app's values."),
        .optional(
            "tokens", .object(AppService.names.map { .optional($0, .string(.deviceToken)) }),
            "The device tokens of the app's services."),
        .optional("activities", .openObject, "The device tokens of Live Activities, by their names."),
        .optional(
            "badge", .integer(0...Installation.maximumBadge),
            "The number on the app's icon, from which the badge of a message counts."),
    ]

    private static let tagList = Schema.array(.string(.any), count: 0...ProviderServerLimits.tags)
    static let schema = Schema.named("InstallationRequest", .object(requestMembers))
    /// All members are optional in a patch, and may have other forms: null, or what to add and to remove.
    static let patchSchema = Schema.named(
        "InstallationPatch", .object(keys.map { .optional($0, .any) }))
    static let keys = requestMembers.map(\.name)

    private let reader: DocumentReader

    init(_ value: JSONValue, at pointer: String = "") throws(Problem) {
        reader = try DocumentReader(value, at: pointer, keys: Self.keys)
    }

    /// Creates the document that results from a JSON Merge Patch (RFC 7396), in which `tags` and `appTags` may also be
    /// objects that say what to add and to remove.
    init(merging patch: JSONValue, into installation: Installation) throws(Problem) {
        // Check the patch first, so that an error names the place in the patch.
        let reader = try DocumentReader(patch, at: "", keys: Self.keys)
        var members = Self.members(installation)
        var rest = patch
        for (key, known) in [("tags", installation.tags), ("appTags", installation.appTags ?? [])] {
            guard case .object? = reader.members[key],
                let change = try reader.object(key, keys: ["add", "remove"])
            else { continue }
            let added = try Self.tags("add", change) ?? []
            let removed = Set(try Self.tags("remove", change) ?? [])
            let tags = Set(known.filter { !removed.contains($0) } + added)
            guard tags.count <= ProviderServerLimits.tags else {
                throw reader.fault(key, "a change after which there are at most \(ProviderServerLimits.tags) tags")
            }
            members[key] = .array(tags.sorted().map(JSONValue.string))
            rest = rest.without(key)
        }
        try self.init(JSONValue.object(members).merging(rest))
    }

    /// Whether the document says something about a property.
    func has(_ key: String) -> Bool { reader.members[key] != nil }

    var bundleID: String? {
        get throws(Problem) { try reader.line("bundleID", maximum: 200) }
    }

    var user: String? {
        get throws(Problem) { try reader.line("user", maximum: ProviderServerLimits.nameBytes) }
    }

    /// The installation that the document describes.
    func installation(_ id: String, registered: Timestamp, now: Timestamp) throws(Problem) -> Installation {
        let token = try reader.required("deviceToken", try Self.token("deviceToken", reader))
        var installation = Installation(
            id: id, deviceToken: token, environment: try reader.environment("environment") ?? .production,
            registered: registered)
        installation.changed = now
        installation.languages =
            try reader.list(
                "languages", count: 0...ProviderServerLimits.languages, of: "the tag of a language, such as sv-SE",
                Self.isLanguage) ?? []
        installation.timeZone = try timeZone()
        installation.user = try user
        installation.appVersion = try reader.line("appVersion", maximum: ProviderServerLimits.nameBytes)
        installation.tags = try Self.tags("tags", reader) ?? []
        installation.appTags = try Self.tags("appTags", reader)
        installation.values = try TemplateValues.read("values", reader) ?? [:]
        installation.appValues = try TemplateValues.read("appValues", reader) ?? [:]
        installation.tokens = try tokens()
        installation.badge = try reader.integer("badge", 0...Installation.maximumBadge) ?? 0
        return installation
    }

    private static func tags(_ key: String, _ reader: DocumentReader) throws(Problem) -> [String]? {
        let tags = try reader.list(
            key, count: 0...ProviderServerLimits.tags,
            of: "a tag: 1 to \(TagExpression.maximumTagBytes) letters, digits and _ - . : @ #", TagExpression.isTag)
        return tags.map { Set($0).sorted() }
    }

    private func tokens() throws(Problem) -> ServiceTokens {
        var tokens = ServiceTokens()
        if let services = try reader.object("tokens", keys: AppService.names) {
            for name in services.members.keys { tokens.services[name] = try Self.token(name, services) }
        }
        guard let activities = try reader.object("activities", keys: nil) else { return tokens }
        guard activities.members.count <= ProviderServerLimits.activities else {
            throw reader.fault("activities", "an object of at most \(ProviderServerLimits.activities) members")
        }
        for name in activities.members.keys.sorted() {
            guard Self.isIdentifier(name) else {
                throw .invalid(
                    activities.place(name),
                    "The name has to be 1 to \(ProviderServerLimits.identifierBytes) letters, digits and - _ .")
            }
            tokens.activities[name] = try Self.token(name, activities)
        }
        return tokens
    }

    private static func token(_ key: String, _ reader: DocumentReader) throws(Problem) -> String? {
        guard let digits = try reader.text(key, maximum: DeviceToken.maximumBytes * 2) else { return nil }
        guard let token = DeviceToken(digits) else {
            throw reader.fault(key, "hexadecimal digits of 1 to \(DeviceToken.maximumBytes) bytes, two for each")
        }
        return token.hexadecimal
    }

    private func timeZone() throws(Problem) -> String? {
        guard let name = try reader.line("timeZone", maximum: ProviderServerLimits.nameBytes) else { return nil }
        guard TimeZone(identifier: name) != nil else {
            throw reader.fault("timeZone", "a name of the time zone database, such as Europe/Stockholm")
        }
        return name
    }

    static func isLanguage(_ text: String) -> Bool {
        (1...ProviderServerLimits.languageBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }

    /// Whether a text is a valid identifier of an installation. Clients remove the segments `.` and `..` from a path (RFC
    /// 3986, 5.2.4), so nobody could ask for an installation with such a name.
    static func isIdentifier(_ text: String) -> Bool {
        (1...ProviderServerLimits.identifierBytes).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    // MARK: Showing

    /// The members that a request may set.
    static func members(_ installation: Installation) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "deviceToken": .string(installation.deviceToken),
            "environment": .string(installation.environment.rawValue),
            "languages": .array(installation.languages.map(JSONValue.string)),
            "tags": .array(installation.tags.map(JSONValue.string)),
        ]
        members["timeZone"] = installation.timeZone.map(JSONValue.string)
        members["user"] = installation.user.map(JSONValue.string)
        members["appVersion"] = installation.appVersion.map(JSONValue.string)
        members["appTags"] = installation.appTags.map { .array($0.map(JSONValue.string)) }
        if !installation.values.isEmpty { members["values"] = .object(installation.values) }
        if !installation.appValues.isEmpty { members["appValues"] = .object(installation.appValues) }
        let tokens = installation.tokens
        if !tokens.services.isEmpty { members["tokens"] = .object(tokens.services.mapValues(JSONValue.string)) }
        if !tokens.activities.isEmpty { members["activities"] = .object(tokens.activities.mapValues(JSONValue.string)) }
        if installation.badge != 0 { members["badge"] = .integer(installation.badge) }
        return members
    }

    /// Returns the JSON that the API shows of an installation.
    static func show(_ installation: Installation, bundleID: String) -> JSONValue {
        var members = members(installation)
        members["id"] = .string(installation.id)
        members["bundleID"] = .string(bundleID)
        members["registeredAt"] = installation.registeredText.map(JSONValue.string)
        members["createdAt"] = .string(installation.created.text)
        members["changedAt"] = .string(installation.changed.text)
        if let end = installation.end {
            members["ended"] = ["at": .string(end.at.text), "reason": .string(end.reason)]
        }
        return .object(members)
    }
}

extension Installation {
    /// When the app last registered its device token; nil if an import did not say it.
    var registeredText: String? { registered.milliseconds == 0 ? nil : registered.text }
}

extension JSONValue {
    /// The object without a member.
    func without(_ name: String) -> JSONValue {
        guard case .object(var members) = self else { return self }
        members[name] = nil
        return .object(members)
    }

    /// Applies a JSON Merge Patch (RFC 7396, 2). The recursion is safe, because the reader limits the depth.
    func merging(_ patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [String: JSONValue] = [:]
        if case .object(let known) = self { members = known }
        for (name, value) in changes {
            members[name] = value == .null ? nil : (members[name] ?? .null).merging(value)
        }
        return .object(members)
    }
}
