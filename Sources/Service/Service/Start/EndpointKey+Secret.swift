import Storage
import Trust

extension EndpointKey {
    /// Reads the key of Web Push's endpoints, or makes it at the first start.
    static func kept(in secrets: any Secrets) async throws(ServiceError) -> EndpointKey {
        do throws(StoreError) {
            let secret = try await secrets.keep(makeSecret(), as: .endpointKey)
            guard let key = EndpointKey(secret) else {
                throw StoreError(
                    .unreadable, "The secret \(SecretName.endpointKey.rawValue) is damaged: restore it from a backup.")
            }
            return key
        } catch {
            throw ServiceError(.store, error.cause)
        }
    }
}

extension SecretName {
    static let endpointKey = SecretName(known: "endpoint-key")
}
