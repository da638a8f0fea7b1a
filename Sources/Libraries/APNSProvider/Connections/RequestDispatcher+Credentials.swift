import Logging
import NIOCore

// Provider tokens, new credentials, and shutting down.
extension RequestDispatcher {
    /// New credentials that wait until the last connection with the old ones has ended.
    struct Replacement {
        let opener: ConnectionOpener
        let keeper: ProviderTokenKeeper?
        /// The time at which connections are closed even if they still have requests under way.
        let deadline: NIODeadline
        let promise: EventLoopPromise<Void>
    }

    // MARK: Provider tokens

    /// The pause after a failed renewal if the old token is still valid. It has twenty minutes left for further
    /// attempts.
    static let renewalPause = TimeAmount.seconds(30)

    /// Asks the store for a token. Requests wait, unless the current token is still valid.
    func askForToken(insteadOf rejected: String?) {
        guard let keeper else { return }
        if case .known(let token, _) = tokenState, rejected == nil {
            tokenState = .known(token, isBeingRenewed: true)
        } else {
            tokenState = .requested
        }
        let epoch = tokenEpoch
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.makeFutureWithTask { try await keeper.token(insteadOf: rejected) }.assumeIsolated().whenComplete {
            bound.value.tokenArrived($0, insteadOf: rejected, epoch: epoch)
        }
    }

    private func tokenArrived(
        _ result: Result<StoredProviderToken?, any Error>, insteadOf rejected: String?, epoch: Int
    ) {
        guard epoch == tokenEpoch else { return }
        switch result {
        case .success(let token?):
            tokenState = .known(token, isBeingRenewed: false)
        case .success(nil):
            // The store has no better token, so the requests that wait for one fail.
            tokenState = .missing
            finish(queue.newTokenIsMissing())
        case .failure(let error):
            let error = error as? ProviderError ?? ProviderError(.badCredentials, "\(error)")
            logger.info("There is no provider token", metadata: ["cause": "\(error.cause)"])
            if case .known(let token, _) = tokenState, ProviderTokenSchedule.isGood(token, at: keeper?.clock() ?? 0) {
                // The old token is still valid.
                tokenState = .known(token, isBeingRenewed: false)
                renewNotBefore = .now() + Self.renewalPause
            } else {
                tokenState = .missing
                finish(queue.tokenIsMissing(error))
            }
        }
        dispatch()
        wakeReaders()
    }

    /// Handles that the service called a request's provider token expired.
    /// - Parameter rejected: the value of `authorization` in the request.
    func renewToken(_ rejected: String?) {
        guard case .known(let token, _) = tokenState, rejected == "bearer " + token.token else { return }
        logger.info("The service calls the provider token expired")
        askForToken(insteadOf: token.token)
    }

    // MARK: New credentials

    /// Closes every connection, and uses the new credentials when the last one has ended (Guide, 2.3.3.1).
    func replace(_ opener: ConnectionOpener, _ keeper: ProviderTokenKeeper?, _ promise: EventLoopPromise<Void>) {
        // If another replacement is under way, this one takes its place.
        replacement?.promise.succeed()
        replacement = Replacement(
            opener: opener, keeper: keeper, deadline: .now() + settings.grace, promise: promise)
        let isNone = plan.beginReplacement()
        for connection in connections { connection.leave() }
        dropOpening()
        if isNone { installReplacement() }
        scheduleTick(at: .now() + RequestQueue.tickInterval)
    }

    func installReplacement() {
        guard let new = replacement else { return }
        replacement = nil
        opener = new.opener
        keeper = new.keeper
        tokenEpoch += 1
        tokenState = new.keeper == nil ? .notNeeded : .missing
        connectTrouble = nil
        plan.endReplacement(usesTokens: new.keeper != nil || opener.passesTokens)
        new.promise.succeed()
        dispatch()
        if !whenOpen.isEmpty { openMore() }
        wakeReaders()
    }

    /// Closes connections that do not accept requests yet.
    private func dropOpening() {
        for connection in connections where !connection.hasSettings {
            drop(connection)
            connection.close()
        }
    }

    // MARK: Shutting down

    /// Refuses new requests, waits for the answers to those under way, and closes the connections.
    func shutDown(_ promise: EventLoopPromise<Void>) {
        whenShutDown.append(promise)
        guard !queue.isShuttingDown else { return endIfDone() }
        queue.beginShutDown(until: .now() + settings.grace)
        scheduleTick(at: .now() + RequestQueue.tickInterval)
        endIfDone()
    }

    /// Closes the connections when no request waits or is under way any more.
    func endIfDone() {
        guard queue.isShuttingDown, queue.isEmpty, connections.allSatisfy({ $0.inFlight == 0 }) else { return }
        for wait in whenOpen { wait.promise.fail(ProviderError.clientShutDown) }
        whenOpen = []
        for connection in connections { connection.leave() }
        dropOpening()
        guard connections.isEmpty else { return }
        let done = whenShutDown
        whenShutDown = []
        for promise in done { promise.succeed() }
    }

    /// Closes the connections with requests under way if the time for these is over.
    /// - Parameter all: whether the time of a shutdown is over.
    func closeOverdue(at now: NIODeadline, all: Bool) {
        guard all || replacement.map({ $0.deadline <= now }) ?? false else { return }
        for connection in connections { connection.close() }
    }
}
