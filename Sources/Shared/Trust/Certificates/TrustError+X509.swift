import Credentials
import Crypto
import X509

extension TrustError {
    /// Like ``wrapping(_:_:quoting:_:)``, for a certificate or a request that comes from outside. An unsupported kind
    /// of key or signature gets another code than damaged data.
    static func reading<Value>(_ reason: String, _ body: () throws -> Value) throws(TrustError) -> Value {
        try wrapping(.malformed, reason) {
            do {
                return try body()
            } catch let error as CertificateError where error.code == .unsupportedPublicKeyAlgorithm {
                throw TrustError(.unsupportedKey, "The key is of an unknown kind.", cause: error)
            } catch let error as CertificateError where error.code == .unsupportedSignatureAlgorithm {
                throw TrustError(.unsupportedAlgorithm, "The signature is of an unknown kind.", cause: error)
            } catch let error as CryptoKitError {
                throw TrustError(.unsupportedKey, "The key is not a point of its curve, or is too small.", cause: error)
            }
        }
    }
}
