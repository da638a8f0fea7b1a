import CommandSupport
import Foundation
import Notifications

/// The answer that made a grant: the line of `carillon grant create --json`, or the body of the answer to
/// `POST /1/grants` or `POST /v1/grants`.
struct GrantFile {
    let teamID: TeamID
    let keyID: KeyID
    let bundleID: BundleID
    private let path: String
    private let answer: JSONValue

    init(path: String) throws {
        let answer = try JSONFile(path: path).read("grant")
        guard answer.members["webPush"] != .bool(true) else {
            throw CommandError(
                "The file \(path) has a grant for Web Push, which has no key to send with. Make one for the instance: "
                    + "carillon grant create without --web-push.")
        }
        func text(_ name: String) throws -> String {
            guard case .string(let text)? = answer.members[name] else {
                throw CommandError(
                    "The file \(path) has no \(name): it takes the answer that made the grant, and gateways before 0.3.0 did "
                        + "not say the bundleID. Add it.")
            }
            return text
        }
        guard let team = TeamID(rawValue: try text("teamID")), let key = KeyID(rawValue: try text("keyID")),
            let bundleID = BundleID(rawValue: try text("bundleID"))
        else { throw CommandError("The file \(path) has a teamID, a keyID or a bundleID that is none.") }
        (teamID, keyID, self.bundleID) = (team, key, bundleID)
        (self.path, self.answer) = (path, answer)
    }

    /// Returns the grant's private key in PEM.
    /// - Parameter file: where it is; nil to look into the answer, and for the files that it may be in.
    func privateKey(in file: String?) throws -> String {
        if let file { return try read(file) }
        if case .string(let pem)? = answer.members["privateKey"] { return pem }
        // The folder of the answer, with its slash.
        let beside = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        var candidates = [beside + "AuthKey_\(keyID.rawValue).p8", beside + "AuthKey.p8"]
        if case .string(let named)? = answer.members["path"] {
            // The file may have come from another machine.
            candidates = [named, beside + (named.split(separator: "/").last.map { String($0) } ?? named)] + candidates
        }
        guard let present = candidates.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
            throw CommandError(
                "The grant's private key is not there: name its file with --key-file, or put it at \(candidates[0]).")
        }
        return try read(present)
    }

    private func read(_ file: String) throws -> String {
        try InputFile.text(file, "key")
    }
}
