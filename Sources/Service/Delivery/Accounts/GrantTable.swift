package import Notifications

/// The grants of a snapshot of the accounts, found by their identifiers and by each of their keys. Nothing that a request or
/// a change of one grant needs looks at all of them.
package struct GrantTable: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private var grants = ShardedTable<GrantID, Grant>()
    private var byKey = ShardedTable<KeyID, GrantID>()
    private var byClientKey = ShardedTable<String, GrantID>()
    private var byPublicKey = ShardedTable<[UInt8], GrantID>()
    /// How many are not revoked.
    package private(set) var unrevokedCount = 0
    /// Differs from that of an earlier snapshot if a key that was accepted in that one may not be accepted any more.
    package private(set) var losses: UInt64

    /// - Parameter version: the version of the accounts that were read from a store.
    init(version: UInt64 = 0) {
        // More than the changes between two versions, so that no two snapshots have the same number by chance.
        losses = version << 16
    }

    package init(dictionaryLiteral elements: (GrantID, Grant)...) {
        self.init()
        for (_, grant) in elements { set(grant) }
    }

    package var count: Int { grants.count }
    package var isEmpty: Bool { grants.isEmpty }
    package var values: some Sequence<Grant> { grants.values }
    package var keys: some Sequence<GrantID> { grants.keys }

    package subscript(id: GrantID) -> Grant? { grants[id] }

    /// The grant that has a key with this identifier, or a client key with it.
    func grant(withKey id: KeyID) -> Grant? { byKey[id].flatMap { grants[$0] } }
    func grant(withClientKey key: String) -> Grant? { byClientKey[key].flatMap { grants[$0] } }
    func grant(withPublicKey key: [UInt8]) -> Grant? { byPublicKey[key].flatMap { grants[$0] } }

    mutating func set(_ grant: Grant) {
        let before = grants[grant.id]
        if let before {
            forget(before)
            let kept = Set(grant.providerKeys.all.map(\.id))
            let isLess = !kept.isSuperset(of: before.providerKeys.all.map(\.id))
            if before.isActive && (!grant.isActive || isLess) { losses &+= 1 }
        }
        grants[grant.id] = grant
        if grant.revoked == nil { unrevokedCount += 1 }
        for key in grant.providerKeys.all {
            byKey[key.id] = grant.id
            byPublicKey[key.publicKey] = grant.id
        }
        for key in grant.clientKeys.all { byClientKey[key.text] = grant.id }
    }

    mutating func remove(_ id: GrantID) {
        guard let grant = grants[id] else { return }
        forget(grant)
        grants[id] = nil
        losses &+= 1
    }

    /// Removes what finds a grant.
    private mutating func forget(_ grant: Grant) {
        if grant.revoked == nil { unrevokedCount -= 1 }
        for key in grant.providerKeys.all {
            if byKey[key.id] == grant.id { byKey[key.id] = nil }
            if byPublicKey[key.publicKey] == grant.id { byPublicKey[key.publicKey] = nil }
        }
        for key in grant.clientKeys.all where byClientKey[key.text] == grant.id { byClientKey[key.text] = nil }
    }

    package static func == (left: GrantTable, right: GrantTable) -> Bool { left.grants == right.grants }
    package func hash(into hasher: inout Hasher) { hasher.combine(grants) }
}
