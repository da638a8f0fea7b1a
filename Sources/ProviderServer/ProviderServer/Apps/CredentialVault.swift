import APNSProvider
import CampaignStore
import Credentials
import Crypto
import Foundation
import Notifications

/// Encrypts the signing keys and certificates in the store. The encryption key is in a separate file beside the store,
/// so a copy of the database alone reveals none of them.
struct CredentialVault: Sendable {
    static let fileName = "credentials.key"
    private static let keyBytes = 32

    private let key: SymmetricKey

    init(key: SymmetricKey) { self.key = key }

    /// Reads the key, or makes one at the first start.
    init(folder: String) throws(ProviderServerError) {
        let path = folder + "/" + Self.fileName
        let bytes = try ServerFile(path: path, maximumBytes: Self.keyBytes).read {
            RandomBytes.make()
        }
        guard bytes.count == Self.keyBytes else {
            throw ProviderServerError(
                .unusableFile, "\(path) is not a key of \(Self.keyBytes) bytes: restore it from a backup.")
        }
        key = SymmetricKey(data: bytes)
    }

    /// The values that are encrypted.
    enum Secret: Codable, Hashable {
        case key(teamID: String, keyID: String, privateKey: String)
        /// PEM with the certificate, its chain and its key.
        case certificate(String)
        /// The key of a hook's signatures.
        case hookSecret(String)

        func provider() throws(ProviderError) -> ProviderCredentials {
            switch self {
            case .key(let teamID, let keyID, let privateKey):
                try ProviderCredentials(key: privateKey, keyID: keyID, teamID: teamID)
            case .certificate(let pem): try ProviderCredentials(certificate: pem)
            // This case cannot happen: a hook's secret is encrypted under the hook's name, so it cannot be opened under
            // an app's.
            case .hookSecret: try ProviderCredentials(certificate: "")
            }
        }

        var summary: ProviderApp.CredentialsSummary {
            switch self {
            case .key(_, let keyID, _): .key(keyID: keyID)
            case .certificate, .hookSecret: .certificate
            }
        }
    }

    /// - Parameter name: identifies the owner of the secret. It can only be decrypted under the same name, so
    ///   nobody who can write to the database can give one app's key to another app.
    func seal(_ secret: Secret, name: String) throws -> [UInt8] {
        let box = try AES.GCM.seal(
            Data(JSONValue(encoding: secret).text.utf8), using: key, authenticating: Data(name.utf8))
        return box.combined.map { Array($0) } ?? []
    }

    func open(_ sealed: [UInt8], name: String) throws(ProviderServerError) -> Secret {
        do {
            let text = try AES.GCM.open(
                AES.GCM.SealedBox(combined: sealed), using: key, authenticating: Data(name.utf8))
            return try JSONValue.decode(text)
        } catch {
            throw ProviderServerError(
                .wrongKey, "The credentials of \(name) do not open: restore \(Self.fileName), or set them again.")
        }
    }

    static func hookName(_ id: String) -> String { "hook \(id)" }

    static func endpointName(_ bundleID: String, _ environment: Environment) -> String {
        "\(bundleID) \(environment.rawValue)"
    }
}
