import CampaignStore
import HTTPAPI
import Notifications

// A change of an installation: a JSON Merge Patch (RFC 7396), in which tags may also be objects that say what to add and to
// remove.
extension ProviderMessages.InstallationRequest {
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
    /// The members of a patch that may say what to add and to remove.
    private static let tagKeys = ["tags", "appTags"]

    /// Creates the document that results from a patch.
    init(merging patch: JSONValue, into installation: Installation) throws(Problem) {
        // Check the patch first, so that an error names the place in the patch.
        let reader = try DocumentReader(patch, at: "", keys: Self.schema.keys)
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
