package import Delivery
package import Notifications
package import Storage
import Synchronization

/// Remembers the handles that were looked up lately, for a store that no other process writes to. Each push of a grant looks one
/// up, and reading a row costs about as much as the rest of a request.
///
/// A change forgets the handle before its caller learns that the change was made. A look-up that began before the change
/// remembers nothing.
package final class CachedGrantStore: GrantStore {
    /// How many handles are remembered: those of an hour of most instances. Each takes some 350 bytes, so all take 7 MB.
    package static let capacity = 20_000

    private struct Memory {
        /// What was used lately. When it has half of the capacity, it becomes ``older``, and what was there is forgotten.
        var newer: [Handle: StoredHandle] = [:]
        var older: [Handle: StoredHandle] = [:]
        /// Grows with each change.
        var changes: UInt64 = 0

        mutating func forget() {
            changes &+= 1
            (newer, older) = ([:], [:])
        }

        mutating func forget(_ handle: Handle) {
            changes &+= 1
            newer[handle] = nil
            older[handle] = nil
        }

        mutating func remember(_ stored: StoredHandle, _ half: Int) {
            if newer.count >= half { (newer, older) = ([:], newer) }
            newer[stored.handle] = stored
        }
    }

    private let inner: any GrantStore
    private let half: Int
    private let memory = Mutex(Memory())

    package init(_ inner: any GrantStore, capacity: Int = CachedGrantStore.capacity) {
        self.inner = inner
        half = max(1, capacity / 2)
    }

    package func remembered(_ handle: Handle) -> StoredHandle? {
        memory.withLock { memory in
            if let stored = memory.newer[handle] { return stored }
            guard let stored = memory.older[handle] else { return nil }
            memory.remember(stored, half)
            return stored
        }
    }

    package func handles(_ handles: [Handle]) async throws(StoreError) -> [StoredHandle?] {
        let changes = memory.withLock { $0.changes }
        let found = try await inner.handles(handles)
        memory.withLock { memory in
            guard memory.changes == changes else { return }
            for case let stored? in found { memory.remember(stored, half) }
        }
        return found
    }

    /// Makes a change, and forgets what it has changed, also if it fails: its outcome is then unknown.
    private func change<Value: Sendable>(
        _ forget: @escaping @Sendable (inout Memory) -> Void,
        _ body: () async throws(StoreError) -> Value,
    ) async throws(StoreError) -> Value {
        do throws(StoreError) {
            let value = try await body()
            memory.withLock { forget(&$0) }
            return value
        } catch {
            memory.withLock { forget(&$0) }
            throw error
        }
    }

    // MARK: Changes of handles

    package func put(
        _ handles: [StoredHandle],
        limit: Int,
        code: UsedCode?,
        endpoint: HandleEndpoint?,
    ) async throws(StoreError) -> HandleEndpoint? {
        try await change({ memory in
            for stored in handles { memory.forget(stored.handle) }
        }) { () async throws(StoreError) in
            try await inner.put(handles, limit: limit, code: code, endpoint: endpoint)
        }
    }

    package func remove(_ handle: Handle, of grant: GrantID) async throws(StoreError) -> Bool {
        try await change({ $0.forget(handle) }) { () async throws(StoreError) in
            try await inner.remove(handle, of: grant)
        }
    }

    package func end(_ handle: Handle, _ end: HandleEnd) async throws(StoreError) {
        try await change({ $0.forget(handle) }) { () async throws(StoreError) in try await inner.end(handle, end) }
    }

    package func removeOrphanedHandles(after handle: Handle?, limit: Int) async throws(StoreError) -> [Handle] {
        try await change({ $0.forget() }) { () async throws(StoreError) in
            try await inner.removeOrphanedHandles(after: handle, limit: limit)
        }
    }

    package func sweep(
        _ sweep: HandleSweep,
        after handle: Handle?,
        limit: Int,
    ) async throws(StoreError) -> [Handle] {
        try await change({ $0.forget() }) { () async throws(StoreError) in
            try await inner.sweep(sweep, after: handle, limit: limit)
        }
    }

    // MARK: The rest

    package func handleCounts(of grant: GrantID?) async throws(StoreError) -> [GrantID: Int] {
        try await inner.handleCounts(of: grant)
    }

    package func hasHandles() async throws(StoreError) -> Bool { try await inner.hasHandles() }

    package func handles(
        of grant: GrantID,
        isEnded: Bool?,
        _ sweep: HandleSweep,
        after handle: Handle?,
        limit: Int,
    ) async throws(StoreError) -> [StoredHandle] {
        try await inner.handles(of: grant, isEnded: isEnded, sweep, after: handle, limit: limit)
    }

    package func handles(after handle: Handle?, limit: Int) async throws(StoreError) -> [StoredHandle] {
        try await inner.handles(after: handle, limit: limit)
    }

    package func add(_ counts: [GrantCount], on day: UInt64) async throws(StoreError) -> [GrantID: UInt64] {
        try await inner.add(counts, on: day)
    }

    package func sent(on day: UInt64, of grant: GrantID?) async throws(StoreError) -> [GrantID: UInt64] {
        try await inner.sent(on: day, of: grant)
    }

    package func days() async throws(StoreError) -> [UInt64] { try await inner.days() }

    package func answers(of grant: GrantID?) async throws(StoreError) -> [GrantID: [String: UInt64]] {
        try await inner.answers(of: grant)
    }

    package func invite(_ invitation: GrantInvitation, at moment: Timestamp) async throws(StoreError) {
        try await inner.invite(invitation, at: moment)
    }

    package func grantInvitations(at moment: Timestamp) async throws(StoreError) -> [GrantInvitation] {
        try await inner.grantInvitations(at: moment)
    }

    package func removeGrantInvitation(
        _ digest: [UInt8],
        at moment: Timestamp,
    ) async throws(StoreError) -> GrantInvitation? {
        try await inner.removeGrantInvitation(digest, at: moment)
    }

    package func useGrantInvitation(
        _ digest: [UInt8],
        for key: [UInt8],
        grant: GrantID,
        at moment: Timestamp,
    ) async throws(StoreError) -> (used: UsedGrantInvitation, isNew: Bool)? {
        try await inner.useGrantInvitation(digest, for: key, grant: grant, at: moment)
    }

    package func restore(_ used: UsedGrantInvitation) async throws(StoreError) { try await inner.restore(used) }

    package func usedGrantInvitations(
        after digest: [UInt8]?,
        limit: Int,
    ) async throws(StoreError) -> [UsedGrantInvitation] {
        try await inner.usedGrantInvitations(after: digest, limit: limit)
    }

    package func usedCodes(after code: UsedCode?, limit: Int) async throws(StoreError) -> [UsedCode] {
        try await inner.usedCodes(after: code, limit: limit)
    }

    package func fill(_ used: [UsedGrantInvitation]) async throws(StoreError) { try await inner.fill(used) }
    package func fill(_ codes: [UsedCode]) async throws(StoreError) { try await inner.fill(codes) }
}
