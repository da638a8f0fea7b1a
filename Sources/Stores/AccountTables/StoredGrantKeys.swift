import Delivery
import Notifications

/// What the table of grants has of their keys beside the columns of the older ones, as JSON. The column is NULL as long as
/// a grant has the keys with which it was made.
struct StoredGrantKeys: Sendable, Codable {
    /// When the older key was made, in milliseconds since 1970, as all these times.
    var made: UInt64
    var secondID: String?
    /// In hexadecimal digits.
    var secondKey: String?
    var secondMade: UInt64?
    var clientMade: UInt64
    var secondClientKey: String?
    var secondClientMade: UInt64?

    init(_ grant: Grant) {
        let (keys, clients) = (grant.providerKeys, grant.clientKeys)
        made = keys.first.made.milliseconds
        secondID = keys.second?.id.rawValue
        secondKey = keys.second.map { Hexadecimal.string($0.publicKey) }
        secondMade = keys.second?.made.milliseconds
        clientMade = clients.first.made.milliseconds
        secondClientKey = clients.second?.text
        secondClientMade = clients.second?.made.milliseconds
    }

    var secondProviderKey: GrantProviderKey? {
        guard let id = secondID.flatMap(KeyID.init(rawValue:)), let key = secondKey.flatMap({ Hexadecimal.bytes($0) }),
            let secondMade
        else { return nil }
        return GrantProviderKey(id: id, publicKey: key, made: Timestamp(milliseconds: secondMade))
    }

    var secondClient: GrantClientKeyEntry? {
        guard let secondClientKey, let secondClientMade else { return nil }
        return GrantClientKeyEntry(text: secondClientKey, made: Timestamp(milliseconds: secondClientMade))
    }
}

extension Grant {
    var storedKeys: StoredGrantKeys? {
        let isAsMade =
            providerKeys.second == nil && clientKeys.second == nil && providerKeys.first.made == made
            && clientKeys.first.made == made
        return isAsMade ? nil : StoredGrantKeys(self)
    }

    init(
        id: GrantID,
        bundleID: BundleID,
        team: TeamID,
        name: String,
        key: KeyID,
        publicKey: [UInt8],
        clientKey: String,
        limits: GrantLimits,
        isSuspended: Bool,
        made: Timestamp,
        revoked: Timestamp?,
        keys: StoredGrantKeys?,
    ) {
        func moment(_ milliseconds: UInt64?) -> Timestamp { milliseconds.map { Timestamp(milliseconds: $0) } ?? made }
        self.init(
            id: id, bundleID: bundleID, team: team, name: name,
            providerKeys: GrantKeys(
                GrantProviderKey(id: key, publicKey: publicKey, made: moment(keys?.made)), keys?.secondProviderKey),
            clientKeys: GrantKeys(
                GrantClientKeyEntry(text: clientKey, made: moment(keys?.clientMade)), keys?.secondClient),
            limits: limits, isSuspended: isSuspended, made: made, revoked: revoked)
    }
}
