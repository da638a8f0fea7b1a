import Delivery
import DeliveryTesting
import Notifications
import Storage

/// A store whose grants are watched.
struct StoreOfGrants: ForwardingStore {
    let inner: any Store
    let grantStore: any GrantStore
}

/// What a store keeps about grants. A test may do something before a handle is looked up, and let the writing of ends
/// fail.
struct WatchedGrants: GrantStore {
    private let inner: any GrantStore
    private let beforeLookUp: @Sendable () async -> Void
    private let failsEnds: Bool

    init(
        _ inner: any GrantStore,
        failsEnds: Bool = false,
        beforeLookUp: @escaping @Sendable () async -> Void = {},
    ) {
        self.inner = inner
        self.failsEnds = failsEnds
        self.beforeLookUp = beforeLookUp
    }

    func handles(_ handles: [Handle]) async throws(StoreError) -> [StoredHandle?] {
        await beforeLookUp()
        return try await inner.handles(handles)
    }

    func end(_ handle: Handle, _ end: HandleEnd) async throws(StoreError) {
        guard !failsEnds else { throw StoreError(.unavailable, "The test wants this call to fail.") }
        try await inner.end(handle, end)
    }

    // MARK: The rest

    func put(
        _ handles: [StoredHandle], limit: Int, code: UsedCode?, endpoint: HandleEndpoint?,
    ) async throws(StoreError) -> HandleEndpoint? {
        try await inner.put(handles, limit: limit, code: code, endpoint: endpoint)
    }

    func remove(_ handle: Handle, of grant: GrantID) async throws(StoreError) -> Bool {
        try await inner.remove(handle, of: grant)
    }

    func handleCounts(of grant: GrantID?) async throws(StoreError) -> [GrantID: Int] {
        try await inner.handleCounts(of: grant)
    }

    func hasHandles() async throws(StoreError) -> Bool { try await inner.hasHandles() }

    func removeOrphanedHandles(after handle: Handle?, limit: Int) async throws(StoreError) -> [Handle] {
        try await inner.removeOrphanedHandles(after: handle, limit: limit)
    }

    func sweep(
        _ sweep: HandleSweep, after handle: Handle?, limit: Int,
    ) async throws(StoreError) -> [Handle] {
        try await inner.sweep(sweep, after: handle, limit: limit)
    }

    func handles(
        of grant: GrantID, isEnded: Bool?, _ sweep: HandleSweep, after handle: Handle?, limit: Int,
    ) async throws(StoreError) -> [StoredHandle] {
        try await inner.handles(of: grant, isEnded: isEnded, sweep, after: handle, limit: limit)
    }

    func handles(after handle: Handle?, limit: Int) async throws(StoreError) -> [StoredHandle] {
        try await inner.handles(after: handle, limit: limit)
    }

    func add(_ counts: [GrantCount], on day: UInt64) async throws(StoreError) -> [GrantID: UInt64] {
        try await inner.add(counts, on: day)
    }

    func sent(on day: UInt64, of grant: GrantID?) async throws(StoreError) -> [GrantID: UInt64] {
        try await inner.sent(on: day, of: grant)
    }

    func days() async throws(StoreError) -> [UInt64] { try await inner.days() }

    func answers(of grant: GrantID?) async throws(StoreError) -> [GrantID: [String: UInt64]] {
        try await inner.answers(of: grant)
    }

    func invite(_ invitation: GrantInvitation, at moment: Timestamp) async throws(StoreError) {
        try await inner.invite(invitation, at: moment)
    }

    func grantInvitations(at moment: Timestamp) async throws(StoreError) -> [GrantInvitation] {
        try await inner.grantInvitations(at: moment)
    }

    func removeGrantInvitation(_ digest: [UInt8], at moment: Timestamp) async throws(StoreError) -> GrantInvitation? {
        try await inner.removeGrantInvitation(digest, at: moment)
    }

    func useGrantInvitation(
        _ digest: [UInt8],
        for key: [UInt8],
        grant: GrantID,
        at moment: Timestamp,
    ) async throws(StoreError) -> (used: UsedGrantInvitation, isNew: Bool)? {
        try await inner.useGrantInvitation(digest, for: key, grant: grant, at: moment)
    }

    func restore(_ used: UsedGrantInvitation) async throws(StoreError) { try await inner.restore(used) }

    func usedGrantInvitations(
        after digest: [UInt8]?,
        limit: Int,
    ) async throws(StoreError) -> [UsedGrantInvitation] {
        try await inner.usedGrantInvitations(after: digest, limit: limit)
    }

    func usedCodes(after code: UsedCode?, limit: Int) async throws(StoreError) -> [UsedCode] {
        try await inner.usedCodes(after: code, limit: limit)
    }

    func fill(_ used: [UsedGrantInvitation]) async throws(StoreError) { try await inner.fill(used) }
    func fill(_ codes: [UsedCode]) async throws(StoreError) { try await inner.fill(codes) }
}
