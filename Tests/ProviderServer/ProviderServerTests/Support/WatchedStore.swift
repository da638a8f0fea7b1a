import CampaignStore
import Notifications
import SQLSupport
import Storage

/// A store in a folder that calls a test when the server uses it.
struct WatchedStore: SQLCampaignStore {
    let base: SQLiteCampaignStore
    /// Called before recipients are read.
    var reads: @Sendable (RecipientQuery) throws(StoreError) -> Void = { _ in }
    /// Called after a message was changed, before the server knows it.
    var changed: @Sendable (MessageRecord) async throws -> Void = { _ in }

    var database: any SQLDatabase { base.database }
    var identity: [UInt8]? { base.identity }
    var now: @Sendable () -> Timestamp { base.now }
    var waitingDeliveries: Int64 { base.waitingDeliveries }

    func recipients(_ query: RecipientQuery, limit: Int) async throws(StoreError) -> [Recipient] {
        try reads(query)
        return try await base.recipients(query, limit: limit)
    }

    func changeMessage(
        _ id: String,
        _ change: @escaping @Sendable (inout MessageRecord) throws -> ProviderEvent?,
    ) async throws -> MessageRecord? {
        let message = try await base.changeMessage(id, change)
        if let message { try await changed(message) }
        return message
    }
}
