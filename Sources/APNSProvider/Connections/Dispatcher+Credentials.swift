import DequeModule
import Logging
import NIOCore

// Provider tokens, new credentials, and the end.
extension Dispatcher {
    /// New credentials that wait for the last connection with the old ones.
    struct Replacement {
        let opener: ConnectionOpener
        let keeper: ProviderTokenKeeper?
        /// When connections that still have requests under way are closed all the same.
        let deadline: NIODeadline
        let promise: EventLoopPromise<Void>
    }

    // MARK: Provider tokens

    /// After a renewal that failed, while the old token is still good: there are twenty minutes left for others.
    static let renewalPause = TimeAmount.seconds(30)

    /// Asks the store for a token. Requests wait, unless there is an older one that is still good.
    func askForToken(insteadOf rejected: String?) {
        guard let keeper else { return }
        if case .known(let token, _) = tokenState, rejected == nil {
            tokenState = .known(token, isBeingRenewed: true)
        } else {
            tokenState = .asked
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
            // No token would fare better: those that wait for one have their answer.
            tokenState = .missing
            failAll { $0.renewals > 0 }
        case .failure(let error):
            let error = error as? ProviderError ?? ProviderError(.badCredentials, "\(error)")
            logger.info("There is no provider token", metadata: ["cause": "\(error.cause)"])
            if case .known(let token, _) = tokenState, ProviderTokenSchedule.isGood(token, at: keeper?.clock() ?? 0) {
                // The old one still does.
                tokenState = .known(token, isBeingRenewed: false)
                renewNotBefore = .now() + Self.renewalPause
            } else {
                tokenState = .missing
                failAll(with: error) { _ in true }
            }
        }
        dispatch()
        wakeReaders()
    }

    private func failAll(with error: ProviderError? = nil, _ isChosen: (Job) -> Bool) {
        let gone = waiting.filter(isChosen)
        waiting.removeAll(where: isChosen)
        for job in gone {
            finish(job, .failure(error ?? job.trouble ?? ProviderError(.badCredentials, "There is no provider token.")))
        }
    }

    /// The service called the token expired that this request was sent with.
    func renewToken(for job: Job) {
        var again = job
        again.renewals += 1
        waiting.prepend(again)
        guard case .known(let token, _) = tokenState, job.token == "bearer " + token.token else { return }
        logger.info("The service calls the provider token expired")
        askForToken(insteadOf: token.token)
    }

    // MARK: New credentials

    /// Ends every connection, and uses the new credentials when the last one is gone (Guide, 2.3.3.1).
    func replace(_ opener: ConnectionOpener, _ keeper: ProviderTokenKeeper?, _ promise: EventLoopPromise<Void>) {
        // Whoever replaced them a moment ago has been overtaken.
        replacement?.promise.succeed()
        replacement = Replacement(
            opener: opener, keeper: keeper, deadline: .now() + settings.grace, promise: promise)
        let isNone = plan.beginReplacement()
        for connection in connections { connection.leave() }
        dropOpening()
        if isNone { installReplacement() }
        scheduleTick(at: .now() + Self.tickInterval)
    }

    func installReplacement() {
        guard let new = replacement else { return }
        replacement = nil
        opener = new.opener
        keeper = new.keeper
        tokenEpoch += 1
        tokenState = new.keeper == nil ? .notNeeded : .missing
        connectTrouble = nil
        plan.endReplacement(usesTokens: new.keeper != nil)
        new.promise.succeed()
        dispatch()
    }

    /// Lets go of connections that do not take requests yet.
    private func dropOpening() {
        for connection in connections where !connection.hasSettings {
            drop(connection)
            connection.close()
        }
    }

    // MARK: The end

    /// Takes nothing more, lets what is under way be answered, and ends the connections.
    func shutDown(_ promise: EventLoopPromise<Void>) {
        whenShutDown.append(promise)
        guard !isShuttingDown else { return endIfDone() }
        isShuttingDown = true
        shutDownDeadline = .now() + settings.grace
        scheduleTick(at: .now() + Self.tickInterval)
        endIfDone()
    }

    /// When nothing waits and nothing is under way any more, the connections go.
    func endIfDone() {
        guard isShuttingDown, waiting.isEmpty, delayed.isEmpty, connections.allSatisfy({ $0.inFlight == 0 }) else {
            return
        }
        for connection in connections { connection.leave() }
        dropOpening()
        guard connections.isEmpty else { return }
        let done = whenShutDown
        whenShutDown = []
        for promise in done { promise.succeed() }
    }

    /// Looks whether the time for a graceful end is over.
    func replaceOrEnd(at now: NIODeadline) {
        if let replacement, replacement.deadline <= now {
            for connection in connections { connection.close() }
        }
        guard isShuttingDown else { return }
        if shutDownDeadline <= now {
            let rest = Array(waiting) + delayed
            waiting.removeAll()
            delayed.removeAll()
            for job in rest { finish(job, .failure(ProviderError(.shutDown, "The client was shut down."))) }
            for connection in connections { connection.close() }
        }
        endIfDone()
    }
}
