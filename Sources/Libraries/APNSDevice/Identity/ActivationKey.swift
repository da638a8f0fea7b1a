import Connections
import Credentials
import Crypto
import Foundation

/// The private key of a device that is being activated, in a file until the identity is stored.
///
/// The service uses an activation code up when it signs. If the answer is lost, the same code with the same key gets the same
/// certificate. So the key is on the disk before the request is made.
package struct ActivationKey: Sendable {
    /// The largest size of the file, in bytes. A P-256 key in PEM has 241.
    private static let maximumBytes = 4096

    let key: P256.Signing.PrivateKey

    /// - Parameter pem: a P-256 key.
    init(pem: some Collection<UInt8>) throws(DeviceError) {
        do {
            key = try PEM(pem).signingKey
        } catch {
            throw DeviceError(.badIdentity, "The private key cannot be used: \(error.clause).")
        }
    }

    /// Reads the key of an earlier attempt, or makes one and writes it. Only the file's owner can read it.
    /// - Throws: ``DeviceError/Code/storage`` if the file cannot be read or written. A file that is not a key is replaced.
    package init(file: String) throws(DeviceError) {
        do {
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            if data.count <= Self.maximumBytes,
                let kept = try? ActivationKey(pem: data)
            {
                self = kept
                return
            }
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            // This is the first attempt.
        } catch {
            throw DeviceError(.storage, "The key \(file) cannot be read: \(ConnectionFailure.cause(of: error)).")
        }
        key = P256.Signing.PrivateKey()
        try OwnFile.write(Data(key.pemRepresentation.utf8), to: file)
    }

    /// SHA-256 of an activation code, 32 bytes: names the code to whoever may not know it.
    package static func digest(ofCode code: String) -> [UInt8] { Array(SHA256.hash(data: Array(code.utf8))) }

    /// Removes the file when the identity is stored, which has the key too.
    package static func remove(_ file: String) { unlink(file) }
}
