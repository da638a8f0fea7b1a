package import Notifications
package import Storage

/// The endpoints of handles. They are made with ``GrantStore/put(_:limit:code:endpoint:)``, and end with their handles.
/// Everything is read when it is needed.
package protocol HandleEndpoints: Sendable {
    /// Returns an endpoint and its handle; nil if there is none.
    func endpoint(with digest: [UInt8]) async throws(StoreError) -> FoundEndpoint?

    /// Ends an endpoint. One of the same name that is made later has another URL.
    /// - Returns: whether the grant has the handle, and the handle had an endpoint of this name.
    func removeEndpoint(named name: String, of handle: Handle, of grant: GrantID) async throws(StoreError) -> Bool

    /// Ends an endpoint, because its sender is told that it does not exist any more.
    func removeEndpoint(with digest: [UInt8]) async throws(StoreError)

    /// Returns endpoints in the order of their digests, for a copy of the store.
    /// - Parameter digest: the page begins after it; nil for the first page.
    func endpoints(after digest: [UInt8]?, limit: Int) async throws(StoreError) -> [HandleEndpoint]

    /// Writes into an empty store, for a copy. Their handles are there already.
    func fill(_ endpoints: [HandleEndpoint]) async throws(StoreError)
}

/// An endpoint, with what is stored of its handle.
package typealias FoundEndpoint = (endpoint: HandleEndpoint, handle: StoredHandle)

extension StoreError {
    package static let tooManyEndpoints = StoreError(
        .conflict, "The handle has \(HandleEndpoint.maximumCount) endpoints already; end some first.")
}
