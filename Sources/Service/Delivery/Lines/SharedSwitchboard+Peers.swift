import Synchronization

// The outcomes of the local switchboard, for this node's offers and those of others.
extension SharedSwitchboard: OfferOutcomes {
    package func acknowledged(_ offer: OfferID, of destination: Destination) {
        ended(offer, of: destination, .acknowledged, isOwn: { $0.acknowledged(offer, of: destination) })
    }

    package func returned(_ offer: OfferID, of destination: Destination) {
        ended(offer, of: destination, .returned, isOwn: { $0.returned(offer, of: destination) })
    }

    private func ended(
        _ offer: OfferID,
        of destination: Destination,
        _ outcome: PeerOutcome,
        isOwn report: (any OfferOutcomes) -> Void,
    ) {
        if let routes = routes.withLock({ $0 }), routes.origin != offer.origin {
            routes.report(outcome, of: offer)
        } else if let receiver = outcomes.withLock({ $0.receiver }) {
            report(receiver)
        }
    }
}

extension SharedSwitchboard: PeerReceiver {
    package func offered(_ offer: Offer, epoch: UInt64) -> PeerOutcome? {
        guard isHeld(offer.destination.deviceKey, in: epoch) else {
            local.refused(offer)
            return .elsewhere
        }
        switch local.offer(offer) {
        case .taken: return nil
        // It waits here, and the node that has offered it stores it meanwhile.
        case .held, .returned: return .returned
        }
    }

    package func refused(_ offer: Offer) { local.refused(offer) }

    package func stored(_ entry: StoredMailboxEntry, offer: OfferID?, epoch: UInt64) {
        guard isHeld(entry.entry.destination.deviceKey, in: epoch) else { return }
        local.stored(entry, offer: offer)
    }

    package func broadcast(_ broadcast: PeerBroadcast) { broadcasts.withLock { $0 }?.received(broadcast) }

    package func ended(_ offer: OfferID, of destination: Destination, _ outcome: PeerOutcome) {
        if outcome == .elsewhere { holds.whereabouts.forget(destination.deviceKey) }
        guard let receiver = outcomes.withLock({ $0.receiver }) else { return }
        if outcome == .acknowledged {
            receiver.acknowledged(offer, of: destination)
        } else {
            receiver.returned(offer, of: destination)
        }
    }
}
