package import Notifications

extension Registration {
    /// Whether a device token of the given generation may be sent to.
    /// - Returns: nil when it may, else why not, with the moment since when (Guide, Table 8-5).
    package func rejection(ofGeneration tokenGeneration: UInt32) -> Rejection? {
        if tokenGeneration > generation {
            return Rejection(.badDeviceToken, detail: "The service never gave out this device token.")
        }
        if tokenGeneration < generation {
            return Rejection(
                .unregistered,
                timestamp: tokenSince.milliseconds,
                detail: "The device has had a newer token for this app since then.",
            )
        }
        guard isActive else {
            return Rejection(
                .unregistered,
                timestamp: changed.milliseconds,
                detail: "The app has not been registered on the device since then.",
            )
        }
        return nil
    }
}
