import CommandSupport
import Credentials
import Crypto
import Foundation
import Service

/// The file of a new private key, `AuthKey_<key ID>.p8` in a folder. The service chooses the key's identifier, so the file
/// has another name until the key is registered.
struct NewKeyFile {
    let folder: String

    /// - Parameter folder: is made if it does not exist.
    init(folder name: String) throws {
        folder = DataFolder(name).path
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandError("The folder \(folder) cannot be made (\(DataFolder.reason(error))); name another.")
        }
    }

    func path(_ keyID: String) -> String { folder + "/AuthKey_\(keyID).p8" }

    /// Writes the private half to a file, and then registers the public half. If writing fails, no key is registered: nobody
    /// would have its private half.
    /// - Returns: what `register` has returned.
    static func write<Made>(
        _ key: P256.Signing.PrivateKey,
        to file: String,
        register: () async throws -> Made,
    ) async throws -> Made {
        try DataFolder.write(key.pemRepresentation + "\n", to: file)
        do {
            return try await register()
        } catch {
            try? FileManager.default.removeItem(atPath: file)  // Report the first error, not this one.
            throw error
        }
    }

    /// Writes the private half to the folder, and registers the public half, as ``write(_:to:register:)`` does.
    /// - Parameter keyID: returns the identifier of the registered key.
    /// - Returns: what `register` has returned, and the path of the file.
    func fill<Made>(
        with key: P256.Signing.PrivateKey,
        register: () async throws -> Made,
        keyID: (Made) -> String,
    ) async throws -> (made: Made, path: String) {
        let unnamed = folder + "/AuthKey_new_\(UUID().uuidString).p8"
        let made = try await Self.write(key, to: unnamed, register: register)
        let path = path(keyID(made))
        do {
            try FileManager.default.moveItem(atPath: unnamed, toPath: path)
        } catch {
            throw CommandError(
                "The key \(keyID(made)) was made, and its file \(unnamed) cannot be named \(path) "
                    + "(\(DataFolder.reason(error))).")
        }
        return (made, path)
    }

    // MARK: Keys that exist

    static func privateKey(in file: String) throws -> P256.Signing.PrivateKey {
        try key(in: file, "private") { (pem) throws(TrustError) in try pem.signingKey }
    }

    static func publicKey(in file: String) throws -> P256.Signing.PublicKey {
        try key(in: file, "public") { (pem) throws(TrustError) in try pem.verifyingKey }
    }

    private static func key<Key>(
        in file: String, _ half: String, _ read: (PEM) throws(TrustError) -> Key,
    ) throws -> Key {
        let bytes = try InputFile.read(DataFolder(file).path, "key")
        do {
            return try read(PEM(bytes))
        } catch {
            throw CommandError("\(file) is not a P-256 \(half) key in PEM: \(error.reason)")
        }
    }
}
