import CampaignStore
import HTTPAPI
import Notifications

/// What a request says of an installation.
struct InstallationDocument {
    static let schema = Schema.named(
        "InstallationRequest",
        .object(
            [.optional("bundleID", bundleIDForm.schema, "The app. A key of an app needs no name.")]
                + InstallationMember.all.map(\.schema)))
    /// All members are optional in a patch, and may have other forms: null, or what to add and to remove.
    static let patchSchema = Schema.named(
        "InstallationPatch",
        .object(
            schema.mergePatch.members.map { member in
                guard tagKeys.contains(member.name) else { return member }
                return .optional(
                    member.name, .oneOf([member.schema, InstallationMember.tagChange]),
                    "All of the tags, or those to add and to remove; null removes all.")
            }))
    static let keys = schema.keys
    private static let bundleIDForm = JSONForm<String>.text(.bundleID)
    /// The members of a patch that may say what to add and to remove.
    private static let tagKeys = ["tags", "appTags"]

    private let reader: DocumentReader

    init(_ value: JSONValue, at pointer: String = "") throws(Problem) {
        reader = try DocumentReader(value, at: pointer, keys: Self.keys)
    }

    /// Creates the document that results from a JSON Merge Patch (RFC 7396), in which `tags` and `appTags` may also be
    /// objects that say what to add and to remove.
    init(merging patch: JSONValue, into installation: Installation) throws(Problem) {
        // Check the patch first, so that an error names the place in the patch.
        let reader = try DocumentReader(patch, at: "", keys: Self.keys)
        var members = InstallationMember.values(installation)
        var rest = patch
        for (key, known) in [("tags", installation.tags), ("appTags", installation.appTags ?? [])] {
            guard case .object? = reader.members[key],
                let change = try reader.object(key, keys: ["add", "remove"])
            else { continue }
            let added = try InstallationMember.tags("add", change) ?? []
            let removed = Set(try InstallationMember.tags("remove", change) ?? [])
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
        get throws(Problem) { try reader.read("bundleID", Self.bundleIDForm) }
    }

    /// The installation that the document describes.
    func installation(_ id: String, registered: Timestamp, now: Timestamp) throws(Problem) -> Installation {
        // A document without a device token is a fault.
        var installation = Installation(id: id, deviceToken: "", environment: .production, registered: registered)
        installation.changed = now
        for member in InstallationMember.all { try member.read(reader, &installation) }
        return installation
    }

    static func isLanguage(_ text: String) -> Bool {
        text.utf8.count <= ProviderServerLimits.languageBytes && Installation.isLanguage(text)
    }

    /// Whether a text is a valid identifier of an installation. Clients remove the segments `.` and `..` from a path (RFC
    /// 3986, 5.2.4), so nobody could ask for an installation with such a name.
    static func isIdentifier(_ text: String) -> Bool {
        text.isName(maximumBytes: ProviderServerLimits.identifierBytes) && text != "." && text != ".."
    }
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
        var members = members
        for (name, value) in changes {
            members[name] = value == .null ? nil : (members[name] ?? .null).merging(value)
        }
        return .object(members)
    }
}
