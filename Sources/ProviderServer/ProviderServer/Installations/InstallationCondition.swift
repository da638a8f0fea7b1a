import CampaignStore
import Crypto
import HTTPAPI
import HTTPTypes
import Hummingbird
import Notifications

/// The condition under which a request changes an installation: the headers `If-Match` and `If-None-Match` (RFC 9110,
/// 13.1). With it, a program that reads an installation and writes it back does not overwrite another one's change.
struct InstallationCondition: Sendable {
    /// The versions of which the installation has to be one, and empty for any version. Nil if the request has no such
    /// condition.
    private let versions: Set<String>?
    /// Whether the installation must not be there.
    private let isForNew: Bool

    init(_ request: Request) throws(Problem) {
        versions = try request.headers[.ifMatch].map { (field) throws(Problem) in try Self.versions(field) }
        switch request.headers[.ifNoneMatch] {
        case nil: isForNew = false
        case "*": isForNew = true
        default: throw Problem(400, "The header If-None-Match may only be *.")
        }
    }

    private static func versions(_ field: String) throws(Problem) -> Set<String> {
        if field == "*" { return [] }
        let tags = field.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }
        guard !tags.isEmpty, tags.allSatisfy({ $0.count >= 2 && $0.hasPrefix("\"") && $0.hasSuffix("\"") }) else {
            throw Problem(400, "The header If-Match has to be an ETag as the server sent it, or *.")
        }
        return Set(tags)
    }

    /// - Throws: a problem with status 412 if the installation does not meet the condition.
    func check(_ installation: Installation?, _ bundleID: String) throws(Problem) {
        if isForNew, installation != nil { throw Problem(412, "The installation is there already.") }
        guard let versions else { return }
        guard let installation else { throw Problem(412, "There is no such installation.") }
        guard versions.isEmpty || versions.contains(Self.tag(installation, bundleID)) else {
            throw Problem(412, "The installation has changed since it was read: read it again, and repeat the change.")
        }
    }

    /// The name of this version of an installation.
    static func tag(_ installation: Installation, _ bundleID: String) -> String {
        let text = ProviderMessages.Installation(installation, bundleID: bundleID).json.text
        return "\"" + Hexadecimal.string(Array(SHA256.hash(data: Array(text.utf8)).prefix(16))) + "\""
    }
}
