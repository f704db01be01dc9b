// A field that finds a node by its name: a combobox as the ARIA practices have it.

import { createSignal, createUniqueId, For, Show, type JSX } from 'solid-js';
import type { Model } from '../model';
import { t } from '../words';

const MOST = 30;

export function Find(props: { model: Model; label: string; value?: string; switchesOnly?: boolean; found: (node: number) => void }): JSX.Element {
  const id = createUniqueId();
  const [text, setText] = createSignal<string>();
  const [at, setAt] = createSignal(0);
  const found = (): number[] => {
    const wanted = text()?.trim();
    if (!wanted) return [];
    const all = props.model.search(wanted, MOST);
    return props.switchesOnly ? all.filter((node) => props.model.isSwitch[node]) : all;
  };
  const take = (node: number): void => {
    setText(undefined);
    props.found(node);
  };
  const key = (event: KeyboardEvent): void => {
    const list = found();
    if (event.key === 'ArrowDown') setAt(Math.min(at() + 1, list.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at() - 1, 0));
    else if (event.key === 'Enter' && list[at()] !== undefined) take(list[at()]);
    else if (event.key === 'Escape') setText(undefined);
    else return;
    event.preventDefault();
  };
  return (
    <div class="field">
      <label for={`${id}-field`}>{props.label}</label>
      <input
        id={`${id}-field`}
        role="combobox"
        aria-expanded={text() !== undefined && found().length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={found().length ? `${id}-${at()}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={t('findHint')}
        value={text() ?? props.value ?? ''}
        onInput={(event) => { setText(event.currentTarget.value); setAt(0); }}
        onKeyDown={key}
        onBlur={() => setTimeout(() => setText(undefined), 150)}
      />
      <Show when={text()?.trim()}>
        <ul class="options" id={`${id}-list`} role="listbox" aria-label={props.label}>
          <For each={found()} fallback={<li role="option" aria-selected="false" aria-disabled="true">{t('nothingFound')}</li>}>
            {(node, index) => (
              <li id={`${id}-${index()}`} role="option" aria-selected={index() === at()} onMouseDown={() => take(node)}>
                {props.model.name[node]}
              </li>
            )}
          </For>
        </ul>
      </Show>
    </div>
  );
}
