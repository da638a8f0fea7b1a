import Notifications

/// The clock that the service uses.
package enum ClockChoice: String, Sendable, CaseIterable {
    case system
    /// The system's clock plus an offset, which tests advance through the management API.
    case virtual
}

extension Settings {
    /// Checks that a virtual clock is allowed: only if the development environment is served, and no other process uses
    /// the store, because each process has its own clock.
    func checkClock() throws(ServiceError) {
        guard clock == .virtual else { return }
        guard !store.isShared else {
            throw ServiceError(
                .badSetting,
                "The setting clock is virtual, and a PostgreSQL store is read by services with other clocks; use sqlite or "
                    + "memory, or leave the clock at system.")
        }
        guard !environments.contains(.development) else { return }
        throw ServiceError(
            .badSetting,
            "The setting clock is virtual, which is for the development environment only; serve it as well, or leave "
                + "the clock at system.")
    }
}
