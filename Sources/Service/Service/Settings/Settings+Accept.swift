import Connections
import Notifications

// Accepting what the service does not know.
extension Settings {
    /// - Parameter ranges: addresses, or ranges as in `172.16.0.0/12`.
    package mutating func setAcceptAnyFrom(_ ranges: [String]) throws(ServiceError) {
        acceptAnyFrom = try Self.ranges(ranges, of: "accept-any-from")
    }

    /// The environments to serve. With Apple's ports, the name that a client asks for selects the environment, and many
    /// clients know only the name of production. `accept any` is for development alone, so both names mean development.
    var servedEnvironments: [Environment] {
        accept == .any && ports == .apple && environments.contains(.development) ? [.development] : environments
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
