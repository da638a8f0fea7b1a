package import Storage

// The refusals of the provider server's stores.
extension StoreError {
    package static let otherRequest = StoreError(
        .conflict, "The idempotency key was used for a different request.")

    static let appDeleted = StoreError(.missing, "The app was deleted.")

    package static let notOver = StoreError(
        .conflict,
        "The message has not ended, or its last outcomes are still being stored: cancel it, or wait a minute.")

    package static func tooManyMessages(_ limit: Int) -> StoreError {
        StoreError(
            .conflict,
            "The app has \(limit) messages that are scheduled or being sent: wait until one has ended, or cancel one.")
    }
}
