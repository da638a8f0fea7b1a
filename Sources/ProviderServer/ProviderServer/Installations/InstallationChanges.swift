import CampaignStore
import HTTPAPI
import Notifications

/// The parts of an installation that a request changes. The app and its backend each have their own tags and values, and
/// neither erases what the other has set.
struct InstallationChanges {
    /// The keys of the app's parts, and those by which an app may call them too: before the parts were told apart, an app
    /// sent `tags` and `values`.
    private static let appKeys = [("tags", "appTags"), ("values", "appValues")]

    private let isApp: Bool
    private let value: JSONValue
    /// The names that the app used, by those of the document.
    private let sentNames: [String: String]

    init(_ value: JSONValue, by registrant: Registrant) throws(Problem) {
        // A value of another type is a fault also if there is no such installation.
        _ = try DocumentReader(value, at: "", keys: nil)
        if case .backend = registrant { isApp = false } else { isApp = true }
        guard isApp, case .object(var members) = value else {
            (self.value, sentNames) = (value, [:])
            return
        }
        var sentNames: [String: String] = [:]
        for (key, own) in Self.appKeys {
            guard let member = members.removeValue(forKey: key) else { continue }
            guard members[own] == nil else {
                throw .invalid("/\(key)", "The backend sets \(key); an app sets \(own).")
            }
            members[own] = member
            sentNames[own] = key
        }
        (self.value, self.sentNames) = (.object(members), sentNames)
    }

    /// Calls `body`. If it fails, the error names the place of the fault as the request does.
    private func located<Result>(_ body: () throws(Problem) -> Result) throws(Problem) -> Result {
        do throws(Problem) {
            return try body()
        } catch {
            var problem = error
            for (own, key) in sentNames {
                guard let pointer = problem.pointer, (pointer + "/").hasPrefix("/\(own)/") else { continue }
                problem.pointer = "/\(key)" + pointer.dropFirst(own.utf8.count + 1)
            }
            throw problem
        }
    }

    // MARK: PUT

    /// The installation of a `PUT`, and the request that describes it.
    struct Replacement {
        var installation: Installation
        let request: ProviderMessages.InstallationRequest
    }

    func replacement(_ id: String, now: Timestamp) throws(Problem) -> Replacement {
        try located { () throws(Problem) in
            let request = try ProviderMessages.InstallationRequest(value)
            return Replacement(installation: try request.installation(id, registered: now, now: now), request: request)
        }
    }

    /// Adds the parts that the sender of a `PUT` does not set.
    func complete(_ new: Replacement, from known: Installation?) -> Installation {
        var result = new.installation
        if let known { result.created = known.created }
        // A PUT at the app's launch says nothing about what messages have counted since.
        if !new.request.has("badge") { result.badge = known?.badge ?? 0 }
        guard isApp else {
            guard let known else {
                // Only the backend has set tags.
                result.appTags = result.appTags ?? []
                return result
            }
            if !new.request.has("appTags") { result.appTags = known.appTags }
            if !new.request.has("appValues") { result.appValues = known.appValues }
            if !new.request.has("tokens") { result.tokens.services = known.tokens.services }
            if !new.request.has("activities") { result.tokens.activities = known.tokens.activities }
            return result
        }
        let own = result.appTags ?? []
        (result.appTags, result.tags, result.values) = (own, known?.tags ?? [], known?.values ?? [:])
        if let known, known.appTags == nil {
            // Nobody knows who set what. From now on the app has what it names.
            result.tags.removeAll { own.contains($0) }
            for (name, value) in result.appValues where result.values[name] == value { result.values[name] = nil }
        }
        return result
    }

    // MARK: PATCH

    /// Returns the installation after a `PATCH`.
    func patched(_ old: Installation, now: Timestamp, bundleID: String) throws(Problem) -> Installation {
        try located { () throws(Problem) in
            let request = try ProviderMessages.InstallationRequest(merging: value, into: old)
            let named = try request.bundleID
            guard named == nil || named == bundleID else {
                throw .invalid("/bundleID", "An installation cannot move to another app.")
            }
            // An ended installation becomes active again only if the request contains a device token.
            let hasToken = value.members["deviceToken"] != nil
            var new = try request.installation(old.id, registered: hasToken ? now : old.registered, now: now)
            new.created = old.created
            if !hasToken { new.end = old.end }
            return new
        }
    }
}
