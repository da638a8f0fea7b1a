package import Notifications

extension Registration {
    /// Decides whether a notification may be sent to a device token of this generation, of the app or of a service.
    /// - Returns: nil if it may; otherwise the rejection, with the time since when the token is invalid (Guide,
    ///   Table 8-5).
    package func rejection(ofGeneration number: UInt32) -> Rejection? {
        let tokenGeneration = TokenNumber.generation(of: number)
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
