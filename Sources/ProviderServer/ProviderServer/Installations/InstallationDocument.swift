import APNSProvider
import Foundation
import HTTPAPI
import Notifications
import CampaignStore

/// An installation in the form that the API receives and shows.
struct InstallationDocument {
    static let keys = [
        "bundleID", "deviceToken", "environment", "languages", "timeZone", "user", "tags", "appVersion", "values",
    ]

    let value: JSONValue
    private let reader: DocumentReader

    init(_ value: JSONValue, at pointer: String = "") throws(Problem) {
        self.value = value
        reader = try DocumentReader(value, at: pointer, keys: Self.keys)
    }

    /// Creates the document that results from a JSON Merge Patch (RFC 7396).
    init(merging patch: JSONValue, into installation: Installation) throws(Problem) {
        // Check the patch first, so that an error names the place in the patch.
        _ = try DocumentReader(patch, at: "", keys: Self.keys)
        try self.init(JSONValue.object(Self.members(installation)).merging(patch))
    }

    var bundleID: String? {
        get throws(Problem) { try reader.line("bundleID", maximum: 200) }
    }

    var user: String? {
        get throws(Problem) { try reader.line("user", maximum: ProviderServerLimits.nameBytes) }
    }

    /// The installation that the document describes.
    func installation(_ id: String, registered: Timestamp, now: Timestamp) throws(Problem) -> Installation {
        let digits = try reader.required(
            "deviceToken", try reader.text("deviceToken", maximum: DeviceToken.maximumBytes * 2))
        guard let token = DeviceToken(digits) else {
            throw reader.fault(
                "deviceToken", "hexadecimal digits of 1 to \(DeviceToken.maximumBytes) bytes, two for each")
        }
        var installation = Installation(
            id: id, deviceToken: token.hexadecimal, environment: try reader.environment("environment") ?? .production,
            registered: registered)
        installation.changed = now
        installation.languages =
            try reader.list(
                "languages", count: 0...ProviderServerLimits.languages, of: "the tag of a language, such as sv-SE",
                Self.isLanguage) ?? []
        installation.timeZone = try timeZone()
        installation.user = try user
        installation.appVersion = try reader.line("appVersion", maximum: ProviderServerLimits.nameBytes)
        let tags =
            try reader.list(
                "tags", count: 0...ProviderServerLimits.tags,
                of: "a tag: 1 to \(TagExpression.maximumTagBytes) letters, digits and _ - . : @ #",
                TagExpression.isTag) ?? []
        installation.tags = Set(tags).sorted()
        installation.values = try TemplateValues.read("values", reader) ?? [:]
        return installation
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
        if !installation.values.isEmpty { members["values"] = .object(installation.values) }
        return members
    }

    /// Returns the JSON that the API shows of an installation.
    static func show(_ installation: Installation, bundleID: String) -> JSONValue {
        var members = members(installation)
        members["id"] = .string(installation.id)
        members["bundleID"] = .string(bundleID)
        members["registeredAt"] = installation.registeredText.map(JSONValue.string)
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
