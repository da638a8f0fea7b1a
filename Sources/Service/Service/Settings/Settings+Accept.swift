import Connections
import Notifications

// Accepting what the service does not know.
extension Settings {
    /// - Parameter ranges: addresses, or ranges as in `172.16.0.0/12`.
    package mutating func setAcceptAnyFrom(_ ranges: [String]) throws(ServiceError) {
        acceptAnyFrom = try Self.ranges(ranges, of: "accept-any-from")
    }

    /// `--accept any` is for tests. It is refused wherever something else than a test could come of it.
    func checkAccept() throws(ServiceError) {
        guard accept == .any else {
            guard acceptAnyFrom.isEmpty else {
                throw ServiceError(.badSetting, "The setting accept-any-from needs --accept any.")
            }
            return
        }
        guard environments.contains(.development) else {
            throw ServiceError(
                .badSetting, "The setting accept is any; that exists in the development environment only.")
        }
        guard !store.isShared else {
            throw ServiceError(
                .badSetting,
                "The setting accept is any; that is for tests, and not for the PostgreSQL store of a cluster.")
        }
    }
}
